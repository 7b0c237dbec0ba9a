import { Clipboard } from '@jupyterlab/apputils';
import * as React from 'react';

import { useNow } from './clock';
import { moment } from './format';
import type { PoolModel } from './pool';

const ENABLE = 'jupyter server extension enable jupyter_diamond';

/** What stands in the way, what to do; nothing while all is well. */
export function Notice(props: { pool: PoolModel }): JSX.Element | null {
  const { pool } = props;
  const again = () => void pool.check();
  switch (pool.link.kind) {
    case 'ready':
      return pool.refreshProblem === '' ? null : (
        <Box kind="refresh" again={() => void pool.refresh()}>
          <p>{pool.refreshProblem}</p>
        </Box>
      );
    case 'connecting':
      return <p className="jp-diamond-empty">Asking the server…</p>;
    case 'offline':
      return <Offline message={pool.link.message} since={pool.link.since} again={again} />;
    case 'missing':
      return pool.link.status === 403 ? <Refused again={again} /> : <Missing again={again} />;
  }
}

function Missing(props: { again: () => void }): JSX.Element {
  return (
    <Box kind="missing" again={props.again}>
      <p>
        <strong>The server half of Diamond is not running.</strong> This Jupyter server does not know
        /jupyter_diamond/api. Run this where the server runs, then restart it:
      </p>
      <Command text={ENABLE} />
      <p>
        If that command does not find it, install <code>jupyter-diamond</code> in the server&rsquo;s own environment.
      </p>
    </Box>
  );
}

function Refused(props: { again: () => void }): JSX.Element {
  return (
    <Box kind="refused" again={props.again}>
      <p>
        <strong>The server refuses Diamond to you (403).</strong> Your login may have run out: reload this page. If that
        does not help, the server&rsquo;s administrator has to allow you the resource <code>diamond</code>.
      </p>
    </Box>
  );
}

function Offline(props: { message: string; since: number; again: () => void }): JSX.Element {
  const since = moment(new Date(props.since).toISOString(), useNow(false));
  return (
    <Box kind="offline" again={props.again}>
      <p>
        <strong>{props.message}</strong> Nothing new since {since}; your jobs are not affected. Asking again by itself.
      </p>
    </Box>
  );
}

function Box(props: { kind: string; again: () => void; children: React.ReactNode }): JSX.Element {
  return (
    <div className="jp-diamond-notice" role="alert" data-notice={props.kind}>
      {props.children}
      <button type="button" className="jp-diamond-link" data-action="ask-again" onClick={props.again}>
        Ask again
      </button>
    </div>
  );
}

function Command(props: { text: string }): JSX.Element {
  const [copied, setCopied] = React.useState(false);
  const copy = () => {
    Clipboard.copyToSystem(props.text);
    setCopied(true);
  };
  return (
    <div className="jp-diamond-command">
      <code>{props.text}</code>
      <button type="button" className="jp-diamond-link" onClick={copy}>
        {copied ? 'Copied' : 'Copy'}
      </button>
    </div>
  );
}
