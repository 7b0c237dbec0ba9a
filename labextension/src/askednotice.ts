/** Tells of a plan that waits for the user's word, wherever they are on the page; goes away once it is answered. */

import { Notification } from '@jupyterlab/apputils';

import type { AgentsModel } from './agents';
import type { Proposal } from './api-types';

/** More that come at once are told of together. */
const APART = 3;
const TITLE = 160;
/** So long a card may take to be drawn: a plan that stands in the open chat needs no notice beside it. */
const DRAWN_MS = 1500;

export class AskedNotices {
  constructor(agents: AgentsModel, show: () => void) {
    agents.asked.connect((_, proposals) => {
      proposals.forEach(each => this._waiting.add(each.id));
      window.setTimeout(() => this._tell(proposals.filter(each => this._isUnseen(each.id)), show), DRAWN_MS);
    });
    agents.answered.connect((_, ids) => ids.forEach(id => this._take(id)));
  }

  private _isUnseen(id: string): boolean {
    const cards = [...document.querySelectorAll<HTMLElement>(`.jp-diamond-proposalmessage [data-proposal="${CSS.escape(id)}"]`)];
    return this._waiting.delete(id) && !cards.some(card => card.offsetParent !== null);
  }

  private _tell(proposals: readonly Proposal[], show: () => void): void {
    const actions = [
      { label: 'Look at it', callback: show },
      { label: 'Later', callback: () => undefined }
    ];
    if (proposals.length > APART) {
      Notification.emit(`${proposals.length} plans need your approval.`, 'info', { autoClose: false, actions });
      return;
    }
    for (const { id, title } of proposals) {
      const said = title.length > TITLE ? `${title.slice(0, TITLE)}…` : title;
      this._told.set(id, Notification.emit(`Needs your approval: ${said}`, 'info', { autoClose: false, actions }));
    }
  }

  private _take(id: string): void {
    this._waiting.delete(id);
    const told = this._told.get(id);
    if (told !== undefined) {
      this._told.delete(id);
      Notification.dismiss(told);
    }
  }

  private readonly _waiting = new Set<string>();
  private readonly _told = new Map<string, string>();
}
