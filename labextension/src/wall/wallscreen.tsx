import type { Message } from '@lumino/messaging';
import * as React from 'react';

import type { OutlookPlace, SiteReading } from '../api-types';
import type { LaunchDesk } from '../launch/desk';
import { Notice } from '../notice';
import type { PoolModel } from '../pool';
import { ScreenContext, ScreenView } from '../screens/view';
import { useSignal } from '../signal';
import { Row, inOrder, rowsOf } from '../sitefacts';
import { SiteCard } from './sitecard';
import { Strip } from './strip';
import { WallModel } from './wallmodel';
import { SORTS, Sort, byPlace, isFound, placeKey, rank, wordsOf } from './walltext';

/** Every site and partition at once, in the main area. */
export class WallScreen extends ScreenView {
  constructor(context: ScreenContext) {
    super(context.pool);
    this.addClass('jp-diamond-screen');
    this.addClass('jp-diamond-wall');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', 'Diamond wall');
    this.node.tabIndex = -1;
    this._desk = context.desk;
    this._model = new WallModel(context.pool);
    this.watchedChanged.connect((_, watched) => this._model.watch(watched));
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._model.dispose();
      super.dispose();
    }
  }

  protected override draw(): JSX.Element {
    return <Wall pool={this.pool} model={this._model} desk={this._desk} />;
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    this.node.focus({ preventScroll: true });
  }

  private readonly _desk: LaunchDesk;
  private readonly _model: WallModel;
}

interface Card {
  readonly site: SiteReading;
  readonly rows: readonly Row[];
  readonly hidden: number;
}

function Wall(props: { pool: PoolModel; model: WallModel; desk: LaunchDesk }): JSX.Element {
  const { pool, model, desk } = props;
  useSignal(pool.changed);
  useSignal(model.changed);
  const [text, setText] = React.useState('');
  const [sort, setSort] = React.useState<Sort>('given');
  const places = React.useMemo(() => byPlace(model.outlook), [model.outlook]);
  const cards = React.useMemo(() => cardsOf(model.sites ?? [], places, text, sort), [model.sites, places, text, sort]);
  if (model.sites === null) {
    return pool.link.kind === 'connecting' || pool.link.kind === 'ready' ? (
      <p className="jp-diamond-empty">Reading the sites…</p>
    ) : (
      <Notice pool={pool} />
    );
  }
  return (
    <>
      <Notice pool={pool} />
      <Strip pool={pool} charges={model.charges} />
      <Tools pool={pool} text={text} setText={setText} sort={sort} setSort={setSort} />
      {model.problem !== '' && <p className="jp-diamond-problem">The wait could not be forecast: {model.problem}</p>}
      <Cards model={model} cards={cards} places={places} pool={pool} desk={desk} words={text} />
    </>
  );
}

function Tools(props: {
  pool: PoolModel;
  text: string;
  setText: (text: string) => void;
  sort: Sort;
  setSort: (sort: Sort) => void;
}): JSX.Element {
  const { pool, text, setText, sort, setSort } = props;
  return (
    <div className="jp-diamond-tools" role="search" aria-label="Find sites and partitions">
      <input
        type="search"
        className="jp-diamond-filter"
        placeholder="Filter: site, partition, GPU"
        aria-label="Filter sites, partitions and kinds of GPU"
        value={text}
        onChange={event => setText(event.target.value)}
      />
      <label className="jp-diamond-choice">
        Order{' '}
        <select value={sort} onChange={event => setSort(event.target.value as Sort)}>
          {Object.entries(SORTS).map(([name, words]) => (
            <option key={name} value={name}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <button
        type="button"
        className="jp-diamond-link"
        data-action="refresh"
        aria-busy={pool.refreshing}
        disabled={pool.refreshing}
        onClick={() => void pool.refresh()}
      >
        {pool.refreshing ? 'Asking every site…' : 'Ask every site now'}
      </button>
    </div>
  );
}

function Cards(props: {
  pool: PoolModel;
  desk: LaunchDesk;
  model: WallModel;
  cards: readonly Card[];
  places: ReadonlyMap<string, OutlookPlace>;
  words: string;
}): JSX.Element {
  const { pool, desk, model, cards, places, words } = props;
  if ((model.sites ?? []).length === 0) {
    return (
      <div className="jp-diamond-empty" data-part="no-sites">
        <p>No sites yet.</p>
        <p>
          <code>jupyter diamond init-sites</code> writes a site catalogue, <code>sites.yaml</code>, with the machines that
          are known; fill yours in, and restart the Jupyter server.
        </p>
      </div>
    );
  }
  if (cards.length === 0) {
    return (
      <p className="jp-diamond-empty" data-part="none-found">
        No site and no partition has all of “{words}” in its name, kind of GPU or state.
      </p>
    );
  }
  return (
    <div className="jp-diamond-cards" onKeyDown={walk} data-part="cards">
      {cards.map((card, at) => (
        <SiteCard
          key={card.site.site}
          site={card.site}
          rows={card.rows}
          hidden={card.hidden}
          places={places}
          model={model}
          pool={pool}
          desk={desk}
          first={at === 0}
        />
      ))}
    </div>
  );
}

/** Cards and rows as the filter leaves them, in the order that was asked for: a card stands where its best row does. */
function cardsOf(
  sites: readonly SiteReading[],
  places: ReadonlyMap<string, OutlookPlace>,
  text: string,
  sort: Sort
): Card[] {
  const words = wordsOf(text);
  const cards: (Card & { best: number })[] = [];
  for (const site of inOrder(sites)) {
    const all = rowsOf(site);
    const ranked = all
      .filter(row => words.length === 0 || isFound(words, site, row))
      .map(row => ({ row, rank: rank(row, places.get(placeKey(site.site, row.name)) ?? null, sort) }))
      .sort((a, b) => a.rank - b.rank);
    const named = words.length === 0 || (all.length === 0 && words.every(word => site.site.toLowerCase().includes(word)));
    if (ranked.length > 0 || named) {
      cards.push({
        site,
        rows: ranked.map(each => each.row),
        hidden: all.length - ranked.length,
        best: ranked[0]?.rank ?? Number.MAX_VALUE
      });
    }
  }
  return sort === 'given' ? cards : cards.sort((a, b) => a.best - b.best);
}

/** Arrows, Home and End walk the rows of all cards: they are one stop for the Tab key. */
function walk(event: React.KeyboardEvent<HTMLDivElement>): void {
  const buttons = [...event.currentTarget.querySelectorAll<HTMLButtonElement>('.jp-diamond-rowname')];
  const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
  const next = to === undefined || at < 0 ? undefined : buttons[to];
  if (next !== undefined) {
    event.preventDefault();
    next.focus();
    next.scrollIntoView({ block: 'nearest' });
  }
}
