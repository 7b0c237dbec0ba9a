import { ReactWidget, refreshIcon } from '@jupyterlab/ui-components';
import type { Message } from '@lumino/messaging';
import * as React from 'react';

import { Clock, ClockContext } from './clock';
import { diamondIcon } from './icon';
import { Identity, LoginGate } from './login';
import { AgentsView, NeedsYou } from './needsyou';
import { Notice } from './notice';
import type { PoolModel } from './pool';
import type { ScreenName } from './screens/registry';
import { useSignal } from './signal';
import { Folds, SitesView } from './sites';
import { SeeAll, TasksView } from './tasks';
import { TransfersView } from './transfers';

export const SIDEBAR_ID = 'jupyter-diamond-sidebar';

export interface SidebarOptions {
  readonly pool: PoolModel;
  readonly openTask: (id: string) => void;
  readonly openGroup: (id: string) => void;
  readonly openScreen: (name: ScreenName) => void;
  /** Sites that the user folded or unfolded, by name. */
  readonly folds: { [site: string]: boolean };
  readonly saveFolds: (folds: { [site: string]: boolean }) => void;
}

/** Up to this many sites show their partitions without being asked. */
const OPEN_BY_ITSELF = 4;

export class DiamondSidebar extends ReactWidget implements Folds {
  constructor(private readonly _options: SidebarOptions) {
    super();
    this.id = SIDEBAR_ID;
    this.addClass('jp-diamond-sidebar');
    this.title.icon = diamondIcon;
    this.title.caption = 'Diamond: your sites and tasks';
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', 'Diamond');
    this._clock = new Clock(() => _options.pool.serverSkew);
  }

  open(site: string): boolean {
    return this._options.folds[site] ?? (this._options.pool.snapshot?.sites.length ?? 0) <= OPEN_BY_ITSELF;
  }

  toggle(site: string): void {
    this._options.folds[site] = !this.open(site);
    this._options.saveFolds(this._options.folds);
    this.update();
  }

  override dispose(): void {
    this._clock.dispose();
    super.dispose();
  }

  protected override render(): JSX.Element {
    return (
      <ClockContext.Provider value={this._clock}>
        <Panel options={this._options} folds={this} />
      </ClockContext.Provider>
    );
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this._clock.start();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    if (this.isVisible) {
      this._clock.start();
    }
  }

  protected override onBeforeHide(message: Message): void {
    super.onBeforeHide(message);
    this._clock.stop();
  }

  private readonly _clock: Clock;
}

function Panel(props: { options: SidebarOptions; folds: Folds }): JSX.Element {
  const { options, folds } = props;
  const { pool, openTask, openGroup, openScreen } = options;
  useSignal(pool.changed);
  const known = pool.link.kind === 'ready' || pool.snapshot !== null;
  return (
    <>
      {known && <NeedsYou pool={pool} openTask={openTask} />}
      <section className="jp-diamond-section" aria-label="Sites">
        <header className="jp-diamond-head">
          <h2>Diamond</h2>
          <SeeAll what="sites" open={() => openScreen('wall')} />
          <button
            type="button"
            className="jp-diamond-iconbutton"
            data-action="refresh"
            title="Ask every site for new facts"
            aria-label="Ask every site for new facts"
            aria-busy={pool.refreshing}
            disabled={pool.refreshing}
            onClick={() => void pool.refresh()}
          >
            <refreshIcon.react tag="span" width="14px" height="14px" />
          </button>
        </header>
        <Notice pool={pool} />
        {known && <LoginGate pool={pool} />}
        {known && <SitesView pool={pool} folds={folds} />}
        {known && <Identity pool={pool} />}
      </section>
      {known && <TransfersView pool={pool} />}
      {known && <TasksView pool={pool} openTask={openTask} openGroup={openGroup} seeAll={() => openScreen('tasks')} />}
import { TransfersView } from './transfers';
      {known && <AgentsView pool={pool} />}
      <Announcer pool={pool} />
    </>
  );
}

/** Says state changes to screen readers. */
function Announcer(props: { pool: PoolModel }): JSX.Element {
  const [text, setText] = React.useState('');
  React.useEffect(() => {
    const say = (_: unknown, sentence: string) => setText(sentence);
    props.pool.announced.connect(say);
    return () => void props.pool.announced.disconnect(say);
  }, [props.pool]);
  return (
    <div className="jp-diamond-spoken" role="status" aria-live="polite" data-announcer="">
      {text}
    </div>
  );
}
