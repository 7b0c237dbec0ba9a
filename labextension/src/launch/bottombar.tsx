import { Clipboard } from '@jupyterlab/apputils';
import * as React from 'react';

import type { LaunchModel } from './launchmodel';
import { chargeNow } from './launchtext';

/** The exact line, the charge, one primary button. */
export function BottomBar(props: { model: LaunchModel }): JSX.Element {
  const { model } = props;
  const { line, obstacle } = model;
  const source = model.sheet.source;
  return (
    <div className="jp-diamond-launchbar" role="group" aria-label="Launch">
      {model.told !== null && (
        <p
          className={model.told.kind === 'problem' ? 'jp-diamond-fieldproblem' : 'jp-diamond-done'}
          role={model.told.kind === 'problem' ? 'alert' : 'status'}
          data-part="told"
        >
          {model.told.text}
        </p>
      )}
      <div className="jp-diamond-launchline">
        {/* at the left: notifications of JupyterLab stand over the right corner */}
        <button
          type="button"
          className="jp-diamond-primary"
          data-action="launch"
          disabled={obstacle !== '' || model.launching}
          aria-busy={model.launching}
          title={obstacle === '' ? 'Launch it' : obstacle}
          onClick={() => void model.launch()}
        >
          {model.launching ? 'Launching…' : 'Launch'}
        </button>
        {model.inKernel && (
          <button
            type="button"
            className="jp-diamond-link"
            data-action="write-line"
            disabled={!model.fresh || line === '' || source.trim() === ''}
            title="Put the line into the notebook; run nothing"
            onClick={() => model.writeCell(false)}
          >
            Only write it
          </button>
        )}
        <button
          type="button"
          className="jp-diamond-link"
          data-action="copy-line"
          disabled={!model.fresh || line === ''}
          title="Copy the line, with what it runs"
          onClick={() => Clipboard.copyToSystem(source === '' ? line : `${line}\n${source}`)}
        >
          Copy
        </button>
        <code data-part="line" tabIndex={0} role="textbox" aria-readonly="true" aria-label="The line as it stands in a cell">
          {line === '' ? '%%diamond_submit …' : line}
        </code>
        <span className="jp-diamond-charge" data-part="charge">
          {chargeNow(model.decision)}
        </span>
      </div>
    </div>
  );
}
