import * as React from 'react';

import type { Captured, Task } from './api-types';
import { bytes } from './format';

const TRAVELS: { readonly [way in Captured['travels']]: string } = {
  value: 'by value',
  source: 'as source',
  import: 'by import',
  module: 'as module file',
  refused: 'refused'
};

type Sent = Pick<Task, 'language' | 'notebook' | 'outputs' | 'source'> & { readonly captured?: readonly Captured[] };

/** What ran: the cell's text, the names that travelled with it, the names that come back. */
export function CellTab(props: { task: Sent }): JSX.Element {
  const { task } = props;
  return (
    <div className="jp-diamond-cell">
      <p className="jp-diamond-fine">
        {task.language}
        {task.notebook.path !== null && `, from ${task.notebook.path}`}
        {task.outputs.length > 0 && `; returns ${task.outputs.join(', ')}`}
      </p>
      <pre className="jp-diamond-source" tabIndex={0} aria-label="The cell">
        {task.source}
      </pre>
      {task.captured !== undefined &&
        (task.captured.length === 0 ? (
          <p className="jp-diamond-empty">The cell took no names along.</p>
        ) : (
          <Names captured={task.captured} />
        ))}
    </div>
  );
}

function Names(props: { captured: readonly Captured[] }): JSX.Element {
  return (
    <table className="jp-diamond-table" data-part="names">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Type</th>
          <th scope="col">Travels</th>
          <th scope="col" className="jp-mod-number">
            Size
          </th>
          <th scope="col">Detail</th>
        </tr>
      </thead>
      <tbody>
        {props.captured.map(name => (
          <tr key={name.name} data-name={name.name} data-travels={name.travels}>
            <td>
              <code>{name.name}</code>
            </td>
            <td>{name.type}</td>
            <td className={name.travels === 'refused' ? 'jp-diamond-tone-error' : ''}>
              {TRAVELS[name.travels] ?? name.travels}
            </td>
            <td className="jp-mod-number">{name.bytes === null ? '' : bytes(name.bytes)}</td>
            <td>{name.detail}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
