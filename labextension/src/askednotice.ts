/** Tells of a plan that waits for the user's word, wherever they are on the page; goes away once it is answered. */

import { Notification } from '@jupyterlab/apputils';

import type { AgentsModel } from './agents';
import type { Proposal } from './api-types';

/** More that come at once are told of together. */
const APART = 3;
const TITLE = 160;

export class AskedNotices {
  constructor(agents: AgentsModel, show: () => void) {
    agents.asked.connect((_, proposals) => this._tell(proposals, show));
    agents.answered.connect((_, ids) => ids.forEach(id => this._take(id)));
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
    const told = this._told.get(id);
    if (told !== undefined) {
      this._told.delete(id);
      Notification.dismiss(told);
    }
  }

  private readonly _told = new Map<string, string>();
}
