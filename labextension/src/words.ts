/** Short names for the unions that the generated types spell out in place. */

import type { SiteReading, Transfer, Verdict } from './api-types';

export type { Outcome, Phase, ReasonClass, State } from './api-types';
export type Health = SiteReading['health'];
export type TransferState = Transfer['state'];
export type Answer = Verdict['answer'];
