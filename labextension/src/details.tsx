import { Clipboard, Dialog, showDialog, showErrorMessage } from '@jupyterlab/apputils';
import { ReactWidget } from '@jupyterlab/ui-components';
import type { Message } from '@lumino/messaging';
import { Signal } from '@lumino/signaling';
import * as React from 'react';

import { ApiFailure } from './api';
import type { Task } from './api-types';
import { AttemptsTab } from './attemptstab';
import { CellTab } from './celltab';
import { Clock, ClockContext } from './clock';
import { EventsTab } from './eventstab';
import { DetailsHead } from './detailshead';
import { diamondIcon } from './icon';
import { LogTab } from './logtab';
import type { PoolModel } from './pool';
import { useSignal } from './signal';
import { TabStrip } from './tabstrip';
import { WhyTab } from './whytab';

const TABS = { log: 'Log', why: 'Why here', attempts: 'Attempts', cell: 'Cell and names', events: 'Events' } as const;
export type TabName = keyof typeof TABS;

/** One task in the main area. It is kept current by the pool: a newer version in the list means a refetch. */
export class TaskPanel extends ReactWidget {
  constructor(
    readonly pool: PoolModel,
    readonly taskId: string
  ) {
    super();
    this.id = `jupyter-diamond-task-${taskId}`;
    this.addClass('jp-diamond-details');
    this.node.dataset['taskId'] = taskId;
    this.title.icon = diamondIcon;
    this.title.label = pool.summary(taskId)?.name ?? 'Task';
    this.title.closable = true;
    this._clock = new Clock(() => pool.serverSkew);
    pool.changed.connect(this._onPool, this);
    void this.reload();
  }

  readonly changed = new Signal<this, void>(this);
  task: Task | null = null;
  problem = '';
  tab: TabName = 'log';
  /** The panel is on screen. */
  watched = false;

  async reload(): Promise<void> {
    if (this._loading) {
      this._again = true;
      return;
    }
    this._loading = true;
    try {
      this._accept(await this.pool.api.task(this.taskId));
    } catch (reason) {
      this.problem = reason instanceof Error ? reason.message : String(reason);
      this._stale = true;
    } finally {
      this._loading = false;
    }
    if (this.isDisposed) {
      return;
    }
    this.changed.emit();
    if (this._again) {
      this._again = false;
      void this.reload();
    }
  }

  /** Asks first; the job is gone for good afterwards. */
  async cancel(): Promise<void> {
    const name = this.task?.name ?? this.taskId;
    const answer = await showDialog({
      title: `Cancel ${name}?`,
      body: 'Its job is taken from the queue or stopped. What it has written so far stays.',
      buttons: [Dialog.cancelButton({ label: 'Keep it' }), Dialog.warnButton({ label: 'Cancel the task' })],
      defaultButton: 0
    });
    if (!answer.button.accept) {
      return;
    }
    try {
      this._accept(await this.pool.api.cancel(this.taskId));
      this.changed.emit();
    } catch (reason) {
      const sentence = reason instanceof ApiFailure ? reason.message : String(reason);
      void showErrorMessage(`${name} was not cancelled`, sentence);
    }
  }

  choose(tab: TabName): void {
    this.tab = tab;
    this.changed.emit();
  }

  copyReference(): void {
    Clipboard.copyToSystem(`diamond.task(${JSON.stringify(this.task?.name ?? this.taskId)})`);
  }

  /** A closed panel is gone: the next click on its task opens a new one. */
  protected override onCloseRequest(message: Message): void {
    super.onCloseRequest(message);
    this.dispose();
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this.pool.changed.disconnect(this._onPool, this);
      this._clock.dispose();
      super.dispose(); // clears our signals, after it has told that we are gone
    }
  }

  protected override render(): JSX.Element {
    return (
      <ClockContext.Provider value={this._clock}>
        <Details panel={this} />
      </ClockContext.Provider>
    );
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this._watch(true);
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this._watch(this.isVisible);
  }

  protected override onBeforeHide(message: Message): void {
    super.onBeforeHide(message);
    this._watch(false);
  }

  private _watch(watched: boolean): void {
    this.watched = watched;
    if (watched) {
      this._clock.start();
    } else {
      this._clock.stop();
    }
    this.changed.emit();
  }

  private _accept(task: Task): void {
    this.task = task;
    this.problem = '';
    this._stale = false;
    this.title.label = task.name;
    this.title.caption = `Task ${task.name} (${task.id})`;
  }

  private _onPool(): void {
    const newest = this.pool.summary(this.taskId)?.version ?? -1;
    if (newest > (this.task?.version ?? -1) || (this._stale && this.pool.link.kind === 'ready')) {
      this._stale = false;
      void this.reload();
    }
  }

  private readonly _clock: Clock;
  private _loading = false;
  private _again = false;
  private _stale = false;
}

function Details(props: { panel: TaskPanel }): JSX.Element {
  const { panel } = props;
  useSignal(panel.changed);
  const task = panel.task;
  if (task === null) {
    return <p className="jp-diamond-empty">{panel.problem === '' ? 'Reading the task…' : panel.problem}</p>;
  }
  return (
    <>
      <DetailsHead panel={panel} task={task} />
      <TabStrip tabs={TABS} chosen={panel.tab} choose={tab => panel.choose(tab)} owner={panel.id} />
      <div
        className="jp-diamond-tabbody"
        role="tabpanel"
        id={`${panel.id}-body`}
        aria-labelledby={`${panel.id}-${panel.tab}`}
        data-tab={panel.tab}
      >
        <Body panel={panel} task={task} />
      </div>
    </>
  );
}

function Body(props: { panel: TaskPanel; task: Task }): JSX.Element {
  const { panel, task } = props;
  const api = panel.pool.api;
  switch (panel.tab) {
    case 'log':
      return <LogTab api={api} task={task} watched={panel.watched} />;
    case 'why':
      return <WhyTab api={api} task={task} />;
    case 'attempts':
      return <AttemptsTab task={task} />;
    case 'cell':
      return <CellTab task={task} />;
    case 'events':
      return <EventsTab api={api} task={task} />;
  }
}
