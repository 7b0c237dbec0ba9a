import type { Message } from '@lumino/messaging';
import * as React from 'react';

import type { Idle, IdlePlace, OtherPlace } from '../api-types';
import { useNow } from '../clock';
import { UNKNOWN, age, count, counted, moment, secondsBetween } from '../format';
import type { LaunchDesk } from '../launch/desk';
import { FieldBox, Suggestions } from '../launch/fieldbox';
import { FIELDS } from '../launch/fields';
import { Notice } from '../notice';
import { ScreenContext, ScreenView } from '../screens/view';
import { useSignal } from '../signal';
import { IdleModel } from './idlemodel';
import { Filters, capText, details, found, kindText, wrongPending } from './idletext';

const ASKED = ['gpus', 'gpu-memory', 'gpu-model', 'arch', 'cpus', 'time'];
const COLUMNS = [
  ['Place', 'Site and partition'],
  ['Free GPUs', 'That a job could really get now'],
  ['GPU', 'Its kind and memory'],
  ['Jobs now', 'So many of this size would fit into what is free'],
  ['Queue', 'Jobs that wait there'],
  ['Longest job', 'For a job of this size'],
  ['Read', 'How old its facts are'],
  ['', '']
] as const;

/** Where a job of this size could start now, in the main area. */
export class IdleScreen extends ScreenView {
  constructor(context: ScreenContext) {
    super(context.pool);
    this.addClass('jp-diamond-screen');
    this.addClass('jp-diamond-idle');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', 'Diamond idle finder');
    this.node.tabIndex = -1;
    this._desk = context.desk;
    this._model = new IdleModel(context.pool);
    this.watchedChanged.connect((_, watched) => this._model.watch(watched));
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._model.dispose();
      super.dispose();
    }
  }

  protected override draw(): JSX.Element {
    return <Finder model={this._model} desk={this._desk} />;
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    this.node.focus({ preventScroll: true });
  }

  private readonly _desk: LaunchDesk;
  private readonly _model: IdleModel;
}

function Finder(props: { model: IdleModel; desk: LaunchDesk }): JSX.Element {
  const { model, desk } = props;
  useSignal(model.changed);
  useSignal(model.pool.changed);
  const [filters, setFilters] = React.useState<Filters>({ pending: '', transport: '' });
  const sites = model.pool.snapshot?.sites ?? [];
  const ways = [...new Set(sites.map(site => site.transport))].sort();
  const wrong = wrongPending(filters.pending);
  return (
    <>
      <Notice pool={model.pool} />
      <form className="jp-diamond-idleform" aria-label="What a job would need" onSubmit={event => event.preventDefault()}>
        <div className="jp-diamond-fields">
          {FIELDS.filter(field => ASKED.includes(field.name))
            .sort((a, b) => ASKED.indexOf(a.name) - ASKED.indexOf(b.name))
            .map(field => (
              <FieldBox
                key={field.name}
                place="idle"
                field={field}
                value={model.values[field.name] ?? ''}
                problem={model.problems[field.name] ?? ''}
                refusal={null}
                change={text => model.set(field.name, text)}
              />
            ))}
          <FieldBox
            place="idle"
            field={{ name: 'pending', label: 'At most waiting', hint: 'any', title: 'Jobs in the queue there' }}
            value={filters.pending}
            problem={wrong}
            refusal={null}
            change={pending => setFilters({ ...filters, pending })}
          />
          <div className="jp-diamond-field" data-field="transport">
            <label htmlFor="jp-diamond-idle-transport">Reached by</label>
            <select
              id="jp-diamond-idle-transport"
              value={filters.transport}
              onChange={event => setFilters({ ...filters, transport: event.target.value })}
            >
              <option value="">any way</option>
              {ways.map(way => (
                <option key={way} value={way}>
                  {way}
                </option>
              ))}
            </select>
          </div>
        </div>
        <Suggestions pool={model.pool} place="idle" />
      </form>
      {model.problem !== '' && (
        <p className="jp-diamond-problem" role="alert">
          {model.problem}
        </p>
      )}
      {model.idle === null ? (
        model.problem === '' && <p className="jp-diamond-empty">Looking…</p>
      ) : (
        <Answer idle={model.idle} model={model} desk={desk} filters={filters} />
      )}
    </>
  );
}

function Answer(props: { idle: Idle; model: IdleModel; desk: LaunchDesk; filters: Filters }): JSX.Element {
  const { idle, model, desk, filters } = props;
  const sites = model.pool.snapshot?.sites ?? [];
  const places = found(idle, sites, filters);
  const hidden = idle.places.length - places.length;
  const nothing = idle.places.length + idle.full.length + idle.unknown.length + idle.refused.length === 0;
  const launch = (place: IdlePlace) => desk.here(place.site, place.partition, model.values);
  return (
    <div className="jp-diamond-idlebody" aria-busy={model.busy}>
      <p className="jp-diamond-lead" role="status" data-part="found">
        {counted(places.length, 'place')} could start it now
        {hidden > 0 && `; ${counted(hidden, 'other')} filtered out`}.
      </p>
      {nothing && (
        <p className="jp-diamond-empty">
          There is no partition to look at. Add a site in a terminal with <code>jupyter diamond setup</code>.
        </p>
      )}
      {places.length > 0 && (
        <table className="jp-diamond-idletable" aria-label="Places that could start it now">
          <thead>
            <tr>
              {COLUMNS.map(([word, title]) => (
                <th key={word} scope="col" title={title}>
                  {word === '' ? <span className="jp-diamond-unseen">What to do</span> : word}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {places.map(place => (
              <PlaceRow key={JSON.stringify([place.site, place.partition])} place={place} launch={() => launch(place)} />
            ))}
          </tbody>
        </table>
      )}
      {!nothing && places.length === 0 && (
        <p className="jp-diamond-empty" data-part="none">
          {hidden > 0
            ? 'What could start it is filtered out: allow a longer queue, or any way.'
            : 'Nothing large enough is free now. Ask for less, or launch it: it waits where it starts soonest.'}
        </p>
      )}
      <Others word="full now" places={idle.full} part="full" />
      <Others word="not known" places={idle.unknown} part="unknown" />
      <Others word="cannot run it" places={idle.refused} part="refused" />
      <p className="jp-diamond-fine">
        Looked {moment(idle.made_at, Date.now(), true)}. Partitions of one site may share nodes: rows are not to be added
        up.
      </p>
    </div>
  );
}

function PlaceRow(props: { place: IdlePlace; launch: () => void }): JSX.Element {
  const { place, launch } = props;
  const [open, setOpen] = React.useState(false);
  const old = secondsBetween(place.read_at, useNow());
  const where = `${place.site}:${place.partition}`;
  return (
    <>
      <tr data-place={where} className={place.simulated ? 'jp-mod-simulated' : ''}>
        <th scope="row">
          {where}
          {place.simulated && ' (simulated)'}
        </th>
        <td>{count(place.gpus_free)}</td>
        <td>{kindText(place)}</td>
        <td>{count(place.jobs_now)}</td>
        <td>{count(place.pending)}</td>
        <td>{capText(place)}</td>
        <td>{old === null ? UNKNOWN : age(old)}</td>
        <td>
          {!place.simulated && (
            <button
              type="button"
              className="jp-diamond-button"
              data-action="launch-here"
              aria-label={`Launch at ${where}`}
              onClick={launch}
            >
              Launch here
            </button>
          )}{' '}
          <button
            type="button"
            className="jp-diamond-link"
            data-action="details"
            aria-expanded={open}
            aria-label={`Details of ${where}`}
            onClick={() => setOpen(!open)}
          >
            Details
          </button>
        </td>
      </tr>
      {open && (
        <tr className="jp-diamond-exact">
          <td colSpan={COLUMNS.length}>
            {[...details(place), `read ${moment(place.read_at, Date.now(), true)}`].join(' · ')}
          </td>
        </tr>
      )}
    </>
  );
}

function Others(props: { word: string; places: readonly OtherPlace[]; part: string }): JSX.Element | null {
  const { word, places, part } = props;
  if (places.length === 0) {
    return null;
  }
  return (
    <details className="jp-diamond-more" data-part={part}>
      <summary>
        {counted(places.length, 'place')} {word}
      </summary>
      <ul>
        {places.map(place => (
          <li key={JSON.stringify([place.site, place.partition])}>
            <b>
              {place.site}:{place.partition}
            </b>
            {place.simulated && ' (simulated)'}: {place.why}
          </li>
        ))}
      </ul>
    </details>
  );
}
