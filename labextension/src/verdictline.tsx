import * as React from 'react';

import type { PoolApi } from './api';
import type { Task, TaskVerdict } from './api-types';
import { useLoaded } from './loadable';

const SHOWN = 3;

/** Of an ended task: what speaks against it, or is not known; nothing where it did all that was asked. */
export function VerdictLine(props: { api: PoolApi; task: Task }): JSX.Element | null {
  const { api, task } = props;
  const { value } = useLoaded<TaskVerdict>(() => api.verdict(task.id), `${task.id} ${task.version}`);
  if (value === null || value.correct === 'yes') {
    return null;
  }
  const lines = value.findings.filter(each => each.answer === 'no').flatMap(each => each.evidence);
  return (
    <div className="jp-diamond-banner jp-mod-warning" data-part="verdict" data-correct={value.correct}>
      {value.sentence}
      {lines.slice(0, SHOWN).map((line, at) => (
        <div key={at} className="jp-diamond-fine">
          {line}
        </div>
      ))}
    </div>
  );
}
