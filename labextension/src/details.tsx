import { Clipboard } from '@jupyterlab/apputils';
import * as React from 'react';

import type { Task } from './api-types';
import { AttemptsTab } from './attemptstab';
import { CellTab } from './celltab';
import { EventsTab } from './eventstab';
import { DetailsHead } from './detailshead';
import { LivePanel } from './livepanel';
import { LogTab } from './logtab';
import type { PoolModel } from './pool';
import { useSignal } from './signal';
import { TabStrip } from './tabstrip';
import { WhyTab } from './whytab';

const TABS = { log: 'Log', why: 'Why here', attempts: 'Attempts', cell: 'Cell and names', events: 'Events' } as const;
export type TabName = keyof typeof TABS;

/** One task in the main area. It is kept current by the pool: a newer version in the list means a refetch. */
export class TaskPanel extends LivePanel<Task> {
  constructor(
    pool: PoolModel,
    readonly taskId: string
  ) {
    super(pool, `jupyter-diamond-task-${taskId}`);
    this.node.dataset['taskId'] = taskId;
    this.title.label = pool.summary(taskId)?.name ?? 'Task';
    void this.reload();
  }

  tab: TabName = 'log';

  get task(): Task | null {
    return this.value;
  }

  /** Asks first; the job is gone for good afterwards. */
  cancel(): Promise<void> {
    const name = this.task?.name ?? this.taskId;
    return this.askAndDo(
      `Cancel ${name}?`,
      'Its job is taken from the queue or stopped. What it has written so far stays.',
      'Cancel the task',
      () => this.pool.api.cancel(this.taskId),
      `${name} was not cancelled`
    );
  }

  choose(tab: TabName): void {
    this.tab = tab;
    this.changed.emit();
  }

  copyReference(): void {
    Clipboard.copyToSystem(`diamond.task(${JSON.stringify(this.task?.name ?? this.taskId)})`);
  }

  protected override draw(): JSX.Element {
    return <Details panel={this} />;
  }

  protected override fetch(): Promise<Task> {
    return this.pool.api.task(this.taskId);
  }

  protected override newest(): number {
    return this.pool.newest(this.taskId);
  }

  protected override accept(task: Task): void {
    super.accept(task);
    this.title.label = task.name;
    this.title.caption = `Task ${task.name} (${task.id})`;
  }
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
      return <EventsTab load={(after, limit) => api.events(task.id, after, limit)} about={task} />;
  }
}
