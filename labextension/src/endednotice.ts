/** Tells of tasks that end while nobody looks at their notebook: JupyterLab's own notifications, which its bell keeps. */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';

import type { Group, Outcome, TaskSummary } from './api-types';
import { endedSentence, endedTogether, sameNotebook } from './endedtext';
import { groupEndedSentence } from './grouptext';
import type { PoolModel } from './pool';

/** More that end at once are told of together. */
const APART = 3;
const MOST_ASKED = 20;
const SUCCESS_MS = 15_000;

export class EndedNotices {
  constructor(
    private readonly _app: JupyterFrontEnd,
    private readonly _pool: PoolModel,
    private readonly _open: { task: (id: string) => void; group: (id: string) => void; sidebar: () => void }
  ) {
    _pool.ended.connect((_, tasks) => void this._tell(tasks));
    _pool.groupsEnded.connect((_, groups) => groups.forEach(group => this._tellGroup(group)));
  }

  /** The user's setting. */
  enabled = true;

  private async _tell(tasks: readonly TaskSummary[]): Promise<void> {
    if (!this.enabled) {
      return;
    }
    const seen = await Promise.all(tasks.slice(0, MOST_ASKED).map(task => this._isLookedAt(task)));
    const unseen = tasks.filter((_, i) => seen[i] !== true);
    if (unseen.length > APART) {
      this._emit(endedTogether(unseen), unseen, 'Open the sidebar', () => this._open.sidebar());
      return;
    }
    for (const task of unseen) {
      this._emit(endedSentence(task), [task], 'Open task', () => this._open.task(task.id));
    }
  }

  private _tellGroup(group: Group): void {
    if (this.enabled && !this._isShown(group.notebook.path) && !isInOpenChat(group.id)) {
      this._emit(groupEndedSentence(group), [group], 'Open group', () => this._open.group(group.id));
    }
  }

  private _emit(message: string, tasks: readonly { outcome: Outcome | null }[], label: string, callback: () => void): void {
    const good = tasks.every(task => task.outcome === 'OK');
    const bad = tasks.some(task => task.outcome !== 'OK' && task.outcome !== 'CANCELLED');
    const actions = [
      { label, callback },
      { label: 'Dismiss', callback: () => undefined }
    ];
    Notification.emit(message, good ? 'success' : bad ? 'error' : 'info', {
      autoClose: good ? SUCCESS_MS : false,
      actions
    });
  }

  /** Its notebook is open and shown. A task of which that is not known counts as unseen. */
  private async _isLookedAt(task: TaskSummary): Promise<boolean> {
    if (isInOpenChat(task.id)) {
      return true;
    }
    const shown = this._shown(); // when it ended, not when the answer comes
    if (shown.length === 0) {
      return false;
    }
    const path = await this._pool.api.task(task.id).then(
      found => found.notebook.path,
      () => null
    );
    return path !== null && shown.some(widget => shows(widget, path));
  }

  private _isShown(path: string | null): boolean {
    return path !== null && this._shown().some(widget => shows(widget, path));
  }

  private _shown(): object[] {
    return document.hidden ? [] : [...this._app.shell.widgets('main')].filter(widget => widget.isVisible);
  }
}

function shows(widget: object, notebook: string): boolean {
  const path = (widget as { context?: { path?: unknown } }).context?.path;
  return typeof path === 'string' && sameNotebook(path, notebook);
}

/** The chat that it was planned in is shown: it reports there. */
function isInOpenChat(id: string): boolean {
  const cards = document.querySelectorAll<HTMLElement>(`.jp-diamond-proposalmessage [data-task="${CSS.escape(id)}"]`);
  return !document.hidden && [...cards].some(card => card.offsetParent !== null);
}
