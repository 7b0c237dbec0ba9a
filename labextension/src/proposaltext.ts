/** A proposal in words, as the chat says them. Pure. */

import type { Proposal } from './api-types';
import { about, amount } from './estimatetext';

/** `starts in about 8 min`; empty where nobody knows. */
export function waitSaid(proposal: Proposal): string {
  const wait = proposal.starts_in_s;
  return wait === null ? '' : wait < 30 ? 'starts at once' : `starts in about ${about(wait)}`;
}

/** `at most 2 GPU-hours on account abc`; that nobody pays; that it is not known stands among the notes. */
export function chargeSaid(proposal: Proposal): string {
  const { charge, account, act } = proposal.terms;
  if (charge === null) {
    return act === 'cancel' || act === 'hold' ? '' : 'nothing is charged for it there';
  }
  if (charge.at_most === null) {
    return '';
  }
  const said = amount(charge.at_most * proposal.tries * (proposal.terms.members ?? 1));
  const plural = charge.unit.endsWith('hour') && said !== '1' ? 's' : '';
  const most = `at most ${said} ${charge.unit}${plural}`.trimEnd();
  return account === null ? most : `${most} on account ${account}`;
}

/** How it stands. `now` is the server's time in ms. */
export function standingSaid(proposal: Proposal, standing: Proposal['standing'], now: number): string {
  switch (standing) {
    case 'waiting': {
      const left = Math.max(0, (Date.parse(proposal.expires_at) - now) / 1000);
      return `Nothing is sent before you say yes. It waits for ${about(left)}.`;
    }
    case 'approved':
      return 'Approved; it is being done.';
    case 'denied':
      return proposal.reason === '' ? '– Not now. Nothing was sent.' : `– Not as planned: “${proposal.reason}”`;
    case 'done': {
      const by = proposal.budget === null ? 'Approved' : 'Covered by a standing budget';
      return proposal.task === null ? `✓ ${by} and done.` : `✓ ${by} and submitted as ${proposal.task}.`;
    }
    case 'void':
      return `? No longer what was shown, so nothing was sent. ${proposal.reason}`;
    case 'expired':
      return '– Nobody said yes in time: it is over, and nothing was sent.';
  }
}
