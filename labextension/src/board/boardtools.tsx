import * as React from 'react';

import { count, counted } from '../format';
import { countsLine } from '../pool';
import { wordsOf } from '../wall/walltext';
import type { Act } from './acts';
import type { BoardModel } from './boardmodel';
import { CLASSES, StateClass } from './lines';

/** What narrows the list, and how much of it is left. */
export function Filters(props: { model: BoardModel }): JSX.Element {
  const { model } = props;
  const [text, setText] = React.useState('');
  const choose = (change: Parameters<BoardModel['narrow']>[0]) => model.narrow(change);
  return (
    <div className="jp-diamond-tools" role="search" aria-label="Find tasks">
      <input
        type="search"
        className="jp-diamond-filter"
        placeholder="Filter: name, place, job id, cause"
        aria-label="Filter by name, place, job id, cause or notebook"
        value={text}
        onChange={event => {
          setText(event.target.value);
          choose({ words: wordsOf(event.target.value) });
        }}
      />
      <Choice label="State" name="state" value={model.filter.state} options={Object.entries(CLASSES)}
        choose={value => choose({ state: value as StateClass })} />
      <Choice label="Site" name="site" value={model.filter.site} options={[['', 'all sites'], ...model.sites.map(same)]}
        choose={value => choose({ site: value })} />
      <Choice label="Notebook" name="notebook" value={model.filter.notebook}
        options={[['', 'all notebooks'], ...model.notebooks.map(same)]} choose={value => choose({ notebook: value })} />
      <span className="jp-diamond-spring" />
      <Counts model={model} />
    </div>
  );
}

const same = (text: string): [string, string] => [text, text];

function Choice(props: {
  label: string;
  name: string;
  value: string;
  options: [string, string][];
  choose: (value: string) => void;
}): JSX.Element {
  return (
    <label className="jp-diamond-choice">
      {props.label}{' '}
      <select data-filter={props.name} value={props.value} onChange={event => props.choose(event.target.value)}>
        {props.options.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

function Counts(props: { model: BoardModel }): JSX.Element {
  const { model } = props;
  const { book, pool } = model;
  const all = (book.tasks?.length ?? 0) + book.groups.length;
  const shown = model.lines.filter(line => line.kind === 'task' || line.kind === 'group').length;
  const said = model.isFiltered ? `${count(shown)} of ${count(all)}` : counted(all, 'task');
  return (
    <span className="jp-diamond-counts" data-part="counts">
      {[countsLine(pool.counts), book.reading ? `${said}, reading more…` : said].filter(part => part !== '').join(' · ')}
      {book.more && !book.reading && (
        <>
          {' '}
          <button type="button" className="jp-diamond-link" data-action="older" onClick={() => void book.older()}>
            read older ones
          </button>
        </>
      )}
    </span>
  );
}

/** What can be done to the chosen ones; it stands there always, so that nothing jumps when the first one is chosen. */
export function Bulk(props: { model: BoardModel; act: (act: Act) => void }): JSX.Element {
  const { model, act } = props;
  const many = model.chosen.size;
  const idle = many === 0 || model.busy !== '';
  return (
    <div className="jp-diamond-bulk" role="toolbar" aria-label="Chosen tasks">
      <span data-part="chosen">{many === 0 ? 'None chosen' : `${count(many)} chosen`}</span>
      <button type="button" className="jp-diamond-button" data-action="cancel-chosen" disabled={idle} onClick={() => act('cancel')}>
        Cancel…
      </button>
      <button type="button" className="jp-diamond-button" data-action="replan-chosen" disabled={idle} onClick={() => act('replan')}>
        Plan anew…
      </button>
      <button type="button" className="jp-diamond-link" data-action="choose-none" disabled={many === 0} onClick={() => model.chooseAll(false)}>
        Choose none
      </button>
      <span className="jp-diamond-spring" />
      <span role="status" aria-live="polite" data-part="said">
        {model.busy !== '' ? `Asking: ${model.busy}` : model.said}
      </span>
    </div>
  );
}
