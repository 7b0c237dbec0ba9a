import * as React from 'react';

import type { Kind } from './desk';
import type { LaunchModel } from './launchmodel';

const KINDS: { readonly [kind in Kind]: string } = {
  cell: 'a cell of a notebook',
  selection: 'selected code',
  file: 'a script',
  command: 'a command'
};

/** What shall run: its name, where it is from, its text. */
export function WhatBox(props: { model: LaunchModel }): JSX.Element {
  const { model } = props;
  const { sheet } = model;
  const problems = model.read?.problems ?? {};
  // an empty sheet is not wrong yet
  const unnamed = sheet.name === '' && sheet.source === '';
  return (
    <fieldset>
      <legend>What</legend>
      <div className="jp-diamond-fields">
        <TextBox
          name="name"
          label="Name"
          hint="fit"
          value={sheet.name}
          problem={unnamed ? '' : (problems['name'] ?? '')}
          change={name => model.set({ name })}
        />
        <div className="jp-diamond-field" data-field="kind">
          <label htmlFor="jp-diamond-launch-kind">Runs</label>
          <select
            id="jp-diamond-launch-kind"
            value={sheet.kind}
            onChange={event => model.become(event.target.value as Kind)}
          >
            {(Object.keys(KINDS) as Kind[])
              .filter(kind => kind !== 'selection' || sheet.kind === 'selection')
              .map(kind => (
                <option key={kind} value={kind}>
                  {KINDS[kind]}
                </option>
              ))}
          </select>
        </div>
        <div className="jp-diamond-field" data-field="language">
          <label htmlFor="jp-diamond-launch-language">Language</label>
          <select
            id="jp-diamond-launch-language"
            value={sheet.language}
            onChange={event => model.set({ language: event.target.value as 'python' | 'bash' })}
          >
            <option value="python">Python</option>
            <option value="bash">bash</option>
          </select>
        </div>
        {sheet.language === 'python' && (
          <TextBox
            name="outputs"
            label="Variables to bring back"
            hint="model,scores"
            value={sheet.outputs}
            problem={problems['outputs'] ?? ''}
            change={outputs => model.set({ outputs })}
          />
        )}
        {model.inKernel && (
          <TextBox
            name="rest"
            label="Else on its line"
            hint="--in x,y --retries 2"
            value={sheet.rest}
            problem=""
            change={rest => model.set({ rest })}
          />
        )}
      </div>
      <Source model={model} />
    </fieldset>
  );
}

function Source(props: { model: LaunchModel }): JSX.Element {
  const { model } = props;
  const { kind, source, path } = model.sheet;
  if (kind === 'command') {
    return (
      <textarea
        className="jp-diamond-source"
        aria-label="The command"
        placeholder="python train.py --epochs 10"
        rows={3}
        spellCheck={false}
        value={source}
        onChange={event => model.set({ source: event.target.value })}
      />
    );
  }
  const from = kind === 'file' ? <FilePath model={model} /> : <FromCell model={model} />;
  return (
    <>
      {from}
      {source.trim() !== '' && (
        <pre className="jp-diamond-source" tabIndex={0} role="region" aria-label={`The text, from ${path}`}>
          {source}
        </pre>
      )}
    </>
  );
}

function FromCell(props: { model: LaunchModel }): JSX.Element {
  const { model } = props;
  const { source, path } = model.sheet;
  const [none, setNone] = React.useState(false);
  const take = () => {
    const seed = model.desk.cell();
    setNone(seed === null);
    if (seed !== null) {
      model.desk.bring(seed);
    }
  };
  return (
    <p className="jp-diamond-from">
      {source.trim() === '' ? 'No cell yet: press the diamond in a cell’s toolbar, or ' : `From ${path}. `}
      <button type="button" className="jp-diamond-link" data-action="take-cell" onClick={take}>
        {source.trim() === '' ? 'take the active cell' : 'Take the active cell'}
      </button>
      {none && ' No code cell is active: open a notebook and click into one.'}
    </p>
  );
}

function FilePath(props: { model: LaunchModel }): JSX.Element {
  const { model } = props;
  const [path, setPath] = React.useState(model.sheet.path);
  React.useEffect(() => setPath(model.sheet.path), [model.sheet.path]);
  return (
    <div className="jp-diamond-filepath">
      <input
        type="text"
        aria-label="Path of the script"
        placeholder="folder/train.py, or right-click it in the file browser"
        spellCheck={false}
        value={path}
        onChange={event => setPath(event.target.value)}
        onKeyDown={event => event.key === 'Enter' && void model.readFile(path.trim())}
      />
      <button
        type="button"
        className="jp-diamond-button"
        data-action="read-file"
        onClick={() => void model.readFile(path.trim())}
      >
        Read
      </button>
    </div>
  );
}

function TextBox(props: {
  name: string;
  label: string;
  hint: string;
  value: string;
  problem: string;
  change: (text: string) => void;
}): JSX.Element {
  const { name, label, hint, value, problem, change } = props;
  const id = `jp-diamond-launch-${name}`;
  return (
    <div className={`jp-diamond-field${problem === '' ? '' : ' jp-mod-wrong'}`} data-field={name}>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type="text"
        value={value}
        placeholder={hint}
        spellCheck={false}
        autoComplete="off"
        aria-invalid={problem !== ''}
        aria-describedby={`${id}-said`}
        onChange={event => change(event.target.value)}
      />
      <div id={`${id}-said`} className="jp-diamond-fieldsaid">
        {problem !== '' && <p className="jp-diamond-fieldproblem">{problem}</p>}
      </div>
    </div>
  );
}
