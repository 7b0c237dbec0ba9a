import { Dialog, showDialog } from '@jupyterlab/apputils';
import * as React from 'react';

import type { Login, LoginStart } from './api-types';
import { useNow } from './clock';
import { counted, moment } from './format';
import type { LoginModel, Way } from './loginmodel';
import type { PoolModel } from './pool';
import { useSignal } from './signal';

/** The sign-in gate, where sites wait for a login or the user asked for it; else nothing. */
export function LoginGate(props: { pool: PoolModel }): JSX.Element {
  const { pool } = props;
  const model = pool.login;
  const [wanted, setWanted] = React.useState(0);
  const box = React.useRef<HTMLDivElement>(null);
  useSignal(model.changed);
  const login = model.state;
  const sites = waiting(pool);
  const gate = login?.health === 'needs_login' && login.ways.length > 0 && (wanted > 0 || sites.length > 0);
  React.useEffect(() => {
    const show = () => setWanted(count => count + 1);
    model.asked.connect(show);
    return () => void model.asked.disconnect(show);
  }, [model]);
  React.useEffect(() => {
    if (wanted > 0) {
      box.current?.querySelector<HTMLElement>('button, input')?.focus();
    }
  }, [wanted]);
  const before = React.useRef(false);
  React.useEffect(() => {
    if (before.current && !gate) {
      setWanted(0);
      // what had the focus is gone: it goes to who is logged in now
      if (document.activeElement === document.body) {
        const sidebar = box.current?.closest('.jp-diamond-sidebar');
        sidebar?.querySelector<HTMLElement>('.jp-diamond-identity')?.focus();
      }
    }
    before.current = gate;
  }, [gate]);
  return <div ref={box}>{gate && <Gate model={model} login={login} sites={sites} />}</div>;
}

/** Sites that are reached over Globus Compute. */
function waiting(pool: PoolModel): string[] {
  const sites = pool.snapshot?.sites ?? [];
  return sites.filter(site => site.transport === 'globus-compute' && !site.simulated).map(site => site.site);
}

/** One button, and then the page's code. */
export function Gate(props: { model: LoginModel; login: Login; sites: string[] }): JSX.Element {
  const { model, login, sites } = props;
  const [start, setStart] = React.useState<LoginStart | null>(null);
  const { busy, problem, guarded } = useGuarded();
  const begin = (way: Way) =>
    guarded(async () => {
      const begun = checked(await model.begin(way));
      setStart(begun);
      window.open(begun.url, '_blank', 'noopener');
    });
  const [first, second] = login.ways;
  return (
    <section className="jp-diamond-gate" aria-label="Log in to Globus" aria-busy={busy}>
      {start === null ? (
        <>
          <p>{login.problem === '' ? 'Globus does not know you yet.' : login.problem}</p>
          {sites.length > 0 && (
            <p className="jp-diamond-fine">
              {counted(sites.length, 'site')} {sites.length === 1 ? 'waits' : 'wait'} for it: {sites.join(', ')}
            </p>
          )}
          <div className="jp-diamond-actions">
            <button
              type="button"
              className="jp-diamond-button jp-mod-primary"
              data-action="login"
              disabled={busy}
              onClick={() => void begin(first ?? 'code')}
            >
              Log in to Globus
            </button>
            {second !== undefined && <Other way={second} busy={busy} begin={begin} />}
          </div>
        </>
      ) : (
        <Begun
          start={start}
          busy={busy}
          finish={code => guarded(() => model.finish(code))}
          again={() => setStart(null)}
          other={start.way === 'web' && login.ways.includes('code') ? () => void begin('code') : null}
        />
      )}
      {problem !== '' && (
        <p className="jp-diamond-gateproblem" role="alert">
          {problem}
        </p>
      )}
    </section>
  );
}

function Other(props: { way: Way; busy: boolean; begin: (way: Way) => void }): JSX.Element {
  return (
    <button
      type="button"
      className="jp-diamond-link"
      data-action={`login-${props.way}`}
      disabled={props.busy}
      onClick={() => props.begin(props.way)}
    >
      {props.way === 'code' ? 'with a code instead' : 'in the browser instead'}
    </button>
  );
}

interface BegunProps {
  readonly start: LoginStart;
  readonly busy: boolean;
  readonly finish: (code: string) => void;
  readonly again: () => void;
  readonly other: (() => void) | null;
}

function Begun(props: BegunProps): JSX.Element {
  const { start, busy, finish, again, other } = props;
  return (
    <>
      {start.needed_for !== '' && <p>{start.needed_for}</p>}
      <p>
        {start.way === 'code'
          ? 'Log in on the page that opened, allow access, and paste the code that it shows.'
          : 'Log in on the page that opened and allow access. This closes by itself.'}{' '}
        <a className="jp-diamond-link" href={start.url} target="_blank" rel="noopener noreferrer">
          Open the page again
        </a>
      </p>
      {start.way === 'code' && <CodeField key={start.url} busy={busy} finish={finish} />}
      <div className="jp-diamond-actions">
        {other !== null && (
          <button type="button" className="jp-diamond-link" data-action="login-code" disabled={busy} onClick={other}>
            with a code instead
          </button>
        )}
        <button type="button" className="jp-diamond-link" data-action="login-cancel" disabled={busy} onClick={again}>
          Not now
        </button>
      </div>
    </>
  );
}

/** The code is taken out of the page before it is sent; React never holds it. */
function CodeField(props: { busy: boolean; finish: (code: string) => void }): JSX.Element {
  const field = React.useRef<HTMLInputElement>(null);
  const [empty, setEmpty] = React.useState(true);
  React.useEffect(() => field.current?.focus(), []);
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    const code = field.current?.value.trim() ?? '';
    if (field.current !== null && code !== '') {
      field.current.value = '';
      setEmpty(true);
      props.finish(code);
    }
  };
  return (
    <form className="jp-diamond-code" onSubmit={submit} autoComplete="off">
      <label>
        <span>Code</span>
        <input
          ref={field}
          type="text"
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          onInput={event => setEmpty(event.currentTarget.value.trim() === '')}
        />
      </label>
      <button type="submit" className="jp-diamond-button jp-mod-primary" disabled={props.busy || empty}>
        {props.busy ? 'Asking…' : 'Finish'}
      </button>
    </form>
  );
}

/** Who is logged in, in one quiet line. */
export function Identity(props: { pool: PoolModel }): JSX.Element | null {
  useSignal(props.pool.login.changed);
  const login = props.pool.login.state;
  const needed = waiting(props.pool).length > 0;
  const nothing = login === null || (login.health === 'not_installed' && !needed);
  return nothing ? null : <IdentityLine pool={props.pool} login={login} />;
}

function IdentityLine(props: { pool: PoolModel; login: Login }): JSX.Element {
  const { pool, login } = props;
  const { busy, problem, guarded } = useGuarded();
  const now = useNow(false);
  const fixed = login.mode === 'tokens' || login.mode === 'service';
  const until = login.expires_at === null ? '' : `at the latest, log in again ${moment(login.expires_at, now)}`;
  return (
    <p className="jp-diamond-identity" tabIndex={-1} title={until} data-login={login.health}>
      <span className="jp-diamond-fine">{quietText(login)}</span>
      {login.health === 'signed_in' && !fixed && (
        <button
          type="button"
          className="jp-diamond-link"
          data-action="logout"
          disabled={busy}
          onClick={() => void confirmLogout().then(sure => (sure ? guarded(() => pool.login.logout()) : undefined))}
        >
          Log out
        </button>
      )}
      {login.health === 'needs_login' && login.ways.length > 0 && (
        <button type="button" className="jp-diamond-link" data-action="login-show" onClick={() => pool.login.asked.emit()}>
          Log in
        </button>
      )}
      {problem !== '' && (
        <span className="jp-diamond-gateproblem" role="alert">
          {problem}
        </span>
      )}
    </p>
  );
}

function quietText(login: Login): string {
  if (login.health !== 'signed_in') {
    return `Globus: ${login.health === 'needs_login' ? 'not logged in' : login.problem}`;
  }
  const source = login.mode === 'tokens' ? ', by tokens of the environment' : '';
  const who = login.identity ?? 'logged in';
  const said = `Globus: ${who}${login.service_identity ? ', an application of its own' : source}`;
  return login.problem === '' ? said : `${said}. ${login.problem}`; // it will not be for much longer
}

async function confirmLogout(): Promise<boolean> {
  const answer = await showDialog({
    title: 'Log out of Globus?',
    body: 'Sites over Globus Compute then wait for your next login. Jobs that run there go on.',
    buttons: [Dialog.cancelButton({ label: 'Stay' }), Dialog.warnButton({ label: 'Log out' })]
  });
  return answer.button.accept;
}

/** Only a web page is opened, whatever the server says. */
function checked(start: LoginStart): LoginStart {
  if (!/^https?:\/\//i.test(start.url)) {
    throw new Error('The server named no web page to log in on.');
  }
  return start;
}

/** One act at a time; what it raises is a sentence. */
function useGuarded(): { busy: boolean; problem: string; guarded: (act: () => Promise<void>) => Promise<void> } {
  const [busy, setBusy] = React.useState(false);
  const [problem, setProblem] = React.useState('');
  const guarded = async (act: () => Promise<void>) => {
    setBusy(true);
    setProblem('');
    try {
      await act();
    } catch (reason) {
      setProblem(reason instanceof Error ? reason.message : String(reason));
    } finally {
      setBusy(false);
    }
  };
  return { busy, problem, guarded };
}
