/**
 * The one vocabulary of states: word, mark (a shape, so that colour is never the only sign) and tone. Pure.
 * jupyter_diamond/notebook/vocabulary.py says the same in cards and tables; a test compares the two.
 */

import type { Answer, Health, ReasonClass, State, TransferState } from './words';

export type Shape =
  | 'arrow'
  | 'dotted'
  | 'hollow'
  | 'filled'
  | 'paused'
  | 'tick'
  | 'cross'
  | 'dash'
  | 'question'
  | 'half';
export type Tone = 'info' | 'neutral' | 'accent' | 'success' | 'error' | 'muted' | 'warning';

export interface Sign {
  readonly word: string;
  readonly shape: Shape;
  readonly tone: Tone;
}

const sign = (word: string, shape: Shape, tone: Tone): Sign => ({ word, shape, tone });

const STATES: { readonly [state in State]: Sign } = {
  waiting: sign('waiting to be sent', 'dotted', 'neutral'),
  staging_in: sign('staging in', 'arrow', 'info'),
  submitting: sign('submitting', 'dotted', 'neutral'),
  submit_unknown: sign('looking for it', 'dotted', 'neutral'),
  pending: sign('pending', 'hollow', 'neutral'),
  configuring: sign('nodes starting', 'hollow', 'accent'),
  running: sign('running', 'filled', 'accent'),
  suspended: sign('suspended', 'paused', 'warning'),
  completing: sign('finishing', 'filled', 'accent'),
  staging_out: sign('staging out', 'arrow', 'info'),
  unknown: sign('unknown', 'question', 'warning'),
  completed: sign('succeeded', 'tick', 'success'),
  failed: sign('failed', 'cross', 'error'),
  cancelled: sign('cancelled', 'dash', 'muted'),
  timeout: sign('timed out', 'cross', 'error'),
  out_of_memory: sign('out of memory', 'cross', 'error'),
  node_fail: sign('node failed', 'cross', 'error'),
  preempted: sign('preempted', 'cross', 'error'),
  rejected: sign('refused', 'cross', 'error'),
  deadline: sign('missed its deadline', 'cross', 'error'),
  lost: sign('lost', 'cross', 'error')
};

const HEALTH: { readonly [health in Health]: Sign } = {
  online: sign('online', 'filled', 'success'),
  degraded: sign('degraded', 'half', 'warning'),
  offline: sign('does not answer', 'cross', 'error'),
  needs_login: sign('needs your login', 'question', 'warning'),
  unknown: sign('not read yet', 'question', 'warning')
};

const TRANSFERS: { readonly [state in TransferState]: Sign } = {
  waiting: sign('waiting its turn', 'dotted', 'neutral'),
  submitting: sign('being handed over', 'dotted', 'neutral'),
  active: sign('moving', 'arrow', 'info'),
  stalled: sign('stalled', 'question', 'warning'),
  paused: sign('paused', 'paused', 'warning'),
  needs_you: sign('needs you', 'question', 'warning'),
  placing: sign('being put in its place', 'arrow', 'info'),
  succeeded: sign('arrived', 'tick', 'success'),
  failed: sign('failed', 'cross', 'error'),
  cancelled: sign('cancelled', 'dash', 'muted')
};

const TRANSPORTS: { readonly [transport: string]: string } = {
  local: 'local',
  ssh: 'ssh',
  'globus-compute': 'Globus Compute'
};

const ANSWERS: { readonly [answer in Answer]: Sign } = {
  pass: sign('passes', 'tick', 'success'),
  fail: sign('fails', 'cross', 'error'),
  unknown: sign('unknown', 'question', 'warning')
};

const REASONS: { readonly [reason in ReasonClass]: string } = {
  will_run: 'will run',
  waits_on_you: 'waits on you',
  never: 'will never run',
  unknown: ''
};

const UNHEARD = sign('unknown', 'question', 'warning');

/** A newer server may know states that this page does not: those read as unknown. */
export function stateSign(state: State): Sign {
  return STATES[state] ?? UNHEARD;
}

export function transferSign(state: TransferState): Sign {
  return TRANSFERS[state] ?? UNHEARD;
}

export function healthSign(health: Health): Sign {
  return HEALTH[health] ?? UNHEARD;
}

export function answerSign(answer: Answer): Sign {
  return ANSWERS[answer] ?? UNHEARD;
}

/** How a site is reached; a newer server may know more ways. */
export function transportWord(transport: string): string {
  return TRANSPORTS[transport] ?? transport;
}

/** What a pending reason means for the user, or an empty string. */
export function reasonWord(reason: ReasonClass | null): string {
  return reason === null ? '' : (REASONS[reason] ?? '');
}
