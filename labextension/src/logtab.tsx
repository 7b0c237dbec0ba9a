import * as React from 'react';

import type { PoolApi } from './api';
import type { Task } from './api-types';
import { bytes } from './format';
import { LogTail } from './logtail';

/** The newest attempt's log. `watched` is true while the panel is on screen. */
export function LogTab(props: { api: PoolApi; task: Task; watched: boolean }): JSX.Element {
  const { api, task, watched } = props;
  const box = React.useRef<HTMLPreElement>(null);
  const tail = React.useRef<LogTail | null>(null);
  const [, bump] = React.useReducer((count: number) => count + 1, 0);
  const active = task.phase !== 'ENDED';
  const attempt = task.attempts.length;
  React.useEffect(() => {
    const made = new LogTail(api, task.id, box.current as HTMLPreElement);
    tail.current = made;
    made.changed.connect(bump);
    return () => made.dispose();
  }, [api, task.id, attempt]);
  React.useEffect(() => {
    const following = tail.current;
    if (watched && active) {
      following?.start();
    } else if (watched) {
      void following?.pull(); // the last words of a job that has ended
    }
    return () => following?.stop();
  }, [watched, active, attempt, task.state]);
  return (
    <div className="jp-diamond-logtab">
      <LogLine tail={tail.current} active={active} box={box} />
      <pre className="jp-diamond-log" ref={box} tabIndex={0} role="log" aria-live="off" aria-label={`Log of ${task.name}`} />
    </div>
  );
}

function LogLine(props: {
  tail: LogTail | null;
  active: boolean;
  box: React.RefObject<HTMLPreElement>;
}): JSX.Element {
  const { tail, active, box } = props;
  const toEnd = () => box.current?.scrollTo({ top: box.current.scrollHeight });
  return (
    <div className="jp-diamond-logline">
      <span className={tail?.problem ? 'jp-diamond-tone-warning' : ''}>{describe(tail, active)}</span>
      <span className="jp-diamond-spring" />
      {tail !== null && tail.first > 0 && (
        <button type="button" className="jp-diamond-link" data-action="earlier" onClick={() => void tail.earlier()}>
          Show earlier
        </button>
      )}
      {tail?.exists === true && (
        <button type="button" className="jp-diamond-link" data-action="to-end" onClick={toEnd}>
          To the end
        </button>
      )}
    </div>
  );
}

function describe(tail: LogTail | null, active: boolean): string {
  if (tail === null || (tail.exists === null && tail.problem === '')) {
    return 'Reading the log…';
  }
  if (tail.problem !== '') {
    return `The log cannot be read at the moment: ${tail.problem}${active ? ' Asking again by itself.' : ''}`;
  }
  if (tail.exists !== true) {
    return active ? 'No log yet: the job has not written anything.' : 'There is no log: the job wrote nothing.';
  }
  const size = tail.size === null ? '' : bytes(tail.size);
  const part = tail.first > 0 ? `, shown without the first ${bytes(tail.first)}` : '';
  return `${size}${part}${active ? ', following' : ', complete'}`;
}
