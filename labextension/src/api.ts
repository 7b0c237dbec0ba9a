/** The REST API of the server half. Every failure is an ApiFailure with a sentence. */

import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';

import type {
  AgentSwitch,
  Charges,
  Decision,
  Draft,
  Envelope,
  ErrorView,
  EventPage,
  Group,
  Idle,
  LineRead,
  LogChunk,
  Login,
  LoginStart,
  MemberSummary,
  Outlook,
  Proposal,
  ResultView,
  SiteHistory,
  Snapshot,
  StandingBudget,
  Status,
  Submitted,
  Task,
  TaskSummary,
  TaskVerdict,
  Transfer
} from './api-types';

const ROOT = 'jupyter_diamond/api';

/** `status` is 0 when nothing answered at all. */
export class ApiFailure extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly evidence: readonly string[] = []
  ) {
    super(message);
  }
}

type Query = { [name: string]: string | number | null };

export class PoolApi {
  constructor(private readonly _settings: ServerConnection.ISettings) {}

  /** How much later the server's clock is than this page's, in ms; ages count from the server's. */
  get skew(): number {
    return this._skew;
  }

  status(): Promise<Status> {
    return this._ask('status');
  }

  sites(): Promise<Snapshot> {
    return this._ask('sites');
  }

  refreshSites(site: string | null): Promise<Snapshot> {
    return this._ask('sites/refresh', {}, { site });
  }

  async tasks(phase: 'active' | 'ended', limit: number): Promise<TaskSummary[]> {
    return (await this._ask<{ tasks: TaskSummary[] }>('tasks', { phase, limit })).tasks;
  }

  /** The page of the list after a task; the newest ones when none is named. */
  async page(before: string | null, limit: number): Promise<TaskSummary[]> {
    return (await this._ask<{ tasks: TaskSummary[] }>('tasks', { before, limit })).tasks;
  }

  /** Tasks of which there is an event after this one, the longest unchanged first. */
  async newer(event: number, limit: number): Promise<TaskSummary[]> {
    return (await this._ask<{ tasks: TaskSummary[] }>('tasks', { newer: event, limit })).tasks;
  }

  outlook(): Promise<Outlook> {
    return this._ask('outlook');
  }

  history(site: string, hours: number): Promise<SiteHistory> {
    return this._ask('sites/history', { site, hours });
  }

  charges(days: number): Promise<Charges> {
    return this._ask('charges', { days });
  }

  /** What a launch sheet's fields say. */
  readLine(form: {
    name: string;
    language: string;
    outputs: string;
    in_cell: boolean;
    options: { [option: string]: string };
  }): Promise<LineRead> {
    return this._ask('launch/line', {}, form);
  }

  /** Take source text as a task; the same token gives the same task. */
  launch(form: {
    client_token: string;
    name: string;
    source: string;
    language: string;
    outputs: string;
    envelope: Envelope;
    path: string | null;
  }): Promise<Submitted> {
    return this._ask('launch', {}, form);
  }

  plan(envelope: Envelope): Promise<Decision> {
    return this._ask('plan', {}, { envelope });
  }

  draft(form: {
    words: string;
    code: string;
    cell: string;
    language: string;
    given: { [option: string]: string };
  }): Promise<Draft> {
    return this._ask('draft', {}, form);
  }

  idle(envelope: Envelope): Promise<Idle> {
    return this._ask('idle', {}, { envelope });
  }

  replan(id: string): Promise<Task> {
    return this._ask(`tasks/${encodeURIComponent(id)}/replan`, {}, {});
  }

  task(id: string): Promise<Task> {
    return this._ask(`tasks/${encodeURIComponent(id)}`);
  }

  cancel(id: string): Promise<Task> {
    return this._ask(`tasks/${encodeURIComponent(id)}/cancel`, {}, {});
  }

  async groups(phase: 'active' | 'ended', limit: number): Promise<Group[]> {
    return (await this._ask<{ groups: Group[] }>('groups', { phase, limit })).groups;
  }

  group(id: string): Promise<Group> {
    return this._ask(`groups/${encodeURIComponent(id)}`);
  }

  /** The members that have begun, by number; in some states only, where these are given. */
  async members(id: string, states: readonly string[] = [], limit = 10_000): Promise<MemberSummary[]> {
    const query = { state: states.length > 0 ? states.join(',') : null, limit };
    return (await this._ask<{ tasks: MemberSummary[] }>(`groups/${encodeURIComponent(id)}/tasks`, query)).tasks;
  }

  onGroup(id: string, act: 'cancel' | 'hold' | 'release' | 'replan'): Promise<Group> {
    return this._ask(`groups/${encodeURIComponent(id)}/${act}`, {}, {});
  }

  groupEvents(id: string, after: number, limit: number): Promise<EventPage> {
    return this._ask(`groups/${encodeURIComponent(id)}/events`, { after, limit });
  }

  decision(id: string): Promise<Decision> {
    return this._ask(`tasks/${encodeURIComponent(id)}/decision`);
  }

  verdict(id: string): Promise<TaskVerdict> {
    return this._ask(`tasks/${encodeURIComponent(id)}/verdict`);
  }

  events(id: string, after: number, limit: number): Promise<EventPage> {
    return this._ask(`tasks/${encodeURIComponent(id)}/events`, { after, limit });
  }

  log(id: string, query: { offset?: number; limit?: number; tail?: number }): Promise<LogChunk> {
    return this._ask(`tasks/${encodeURIComponent(id)}/logs`, query);
  }

  result(id: string): Promise<ResultView> {
    return this._ask(`tasks/${encodeURIComponent(id)}/result`);
  }

  login(): Promise<Login> {
    return this._ask('login');
  }

  beginLogin(way: LoginStart['way']): Promise<LoginStart> {
    return this._ask('login', {}, { way });
  }

  finishLogin(code: string): Promise<Login> {
    return this._ask('login/code', {}, { code });
  }

  logout(): Promise<Login> {
    return this._ask('login', {}, undefined, 'DELETE');
  }

  /** Those under way, newest first. */
  async transfers(): Promise<Transfer[]> {
    return (await this._ask<{ transfers: Transfer[] }>('transfers', { active: 'true', limit: 100 })).transfers;
  }

  cancelTransfer(id: string): Promise<Transfer> {
    return this._ask(`transfers/${encodeURIComponent(id)}/cancel`, {}, {});
  }

  /** As it is now, with what is different from what was proposed. */
  proposal(id: string): Promise<Proposal> {
    return this._ask(`proposals/${encodeURIComponent(id)}`);
  }

  /** What waits for the user's word, newest first. */
  async proposals(standing: string, limit = 100): Promise<Proposal[]> {
    return (await this._ask<{ proposals: Proposal[] }>('proposals', { standing, limit })).proposals;
  }

  approve(id: string, hash: string): Promise<Proposal> {
    return this._ask(`proposals/${encodeURIComponent(id)}/approve`, {}, { hash });
  }

  async budgets(): Promise<StandingBudget[]> {
    return (await this._ask<{ budgets: StandingBudget[] }>('budgets')).budgets;
  }

  revokeBudget(id: string): Promise<StandingBudget> {
    return this._ask(`budgets/${encodeURIComponent(id)}`, {}, undefined, 'DELETE');
  }

  agentSwitch(): Promise<AgentSwitch> {
    return this._ask('agents/switch');
  }

  switchAgents(on: boolean): Promise<AgentSwitch> {
    return this._ask('agents/switch', {}, { on });
  }

  deny(id: string, reason: string): Promise<Proposal> {
    return this._ask(`proposals/${encodeURIComponent(id)}/deny`, {}, { reason });
  }

  private async _ask<T>(path: string, query: Query = {}, body?: object, method = 'GET'): Promise<T> {
    const given = Object.entries(query).filter(([, value]) => value !== null);
    const search = URLExt.objectToQueryString(Object.fromEntries(given.map(([name, value]) => [name, String(value)])));
    const url = URLExt.join(this._settings.baseUrl, ROOT, path) + (given.length > 0 ? search : '');
    const init: RequestInit =
      body === undefined
        ? { cache: 'no-store', method }
        : { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
    const response = await this._send(url, init);
    if (!response.ok) {
      throw await failure(response, path);
    }
    return (await response.json()) as T;
  }

  private async _send(url: string, init: RequestInit): Promise<Response> {
    try {
      const response = await ServerConnection.makeRequest(url, init, this._settings);
      this._readClock(response);
      return response;
    } catch (reason) {
      if (reason instanceof ServerConnection.NetworkError) {
        throw new ApiFailure(0, 'The Jupyter server does not answer.');
      }
      throw reason;
    }
  }

  /** The Date header has whole seconds: smaller differences are not told from none. */
  private _readClock(response: Response): void {
    const date = Date.parse(response.headers.get('Date') ?? '');
    if (Number.isFinite(date)) {
      const skew = date + 500 - Date.now();
      this._skew = Math.abs(skew) < 2000 ? 0 : skew;
    }
  }

  private _skew = 0;
}

async function failure(response: Response, path: string): Promise<ApiFailure> {
  try {
    const view = (await response.json()) as Partial<ErrorView>;
    if (typeof view.message === 'string' && view.message !== '') {
      return new ApiFailure(response.status, view.message, view.evidence ?? []);
    }
  } catch {
    // not our JSON: a proxy's page, or a server without our extension
  }
  return new ApiFailure(response.status, `The server answered ${response.status} to ${path}.`);
}
