import * as React from 'react';

import type { Event, EventPage } from './api-types';
import { useNow } from './clock';
import { moment } from './format';
import { useLoaded } from './loadable';

const PAGE = 200;
const AT_MOST = 2000;

type Load = (after: number, limit: number) => Promise<EventPage>;

/** All facts about a task or a group in their order; append-only, so each number is forever. */
export function EventsTab(props: { load: Load; about: { id: string; version: number } }): JSX.Element {
  const { load, about } = props;
  const { value, problem } = useLoaded(() => allEvents(load), `${about.id} ${about.version}`);
  const now = useNow(false);
  if (value === null) {
    return <p className="jp-diamond-empty">{problem === '' ? 'Reading the events…' : problem}</p>;
  }
  return (
    <table className="jp-diamond-table" data-part="events">
      <thead>
        <tr>
          <th scope="col" className="jp-mod-number">
            No.
          </th>
          <th scope="col">At</th>
          <th scope="col">Event</th>
          <th scope="col">Facts</th>
        </tr>
      </thead>
      <tbody>
        {value.map(event => (
          <tr key={event.seq} data-seq={event.seq} data-type={event.type}>
            <td className="jp-mod-number">{event.seq}</td>
            <td>{moment(event.at, now, true)}</td>
            <td>{words(event.type)}</td>
            <td className="jp-diamond-data">{facts(event)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

async function allEvents(load: Load): Promise<Event[]> {
  const events: Event[] = [];
  let cursor = 0;
  while (events.length < AT_MOST) {
    const page = await load(cursor, PAGE);
    events.push(...page.events);
    if (page.events.length < PAGE || page.cursor <= cursor) {
      break;
    }
    cursor = page.cursor;
  }
  return events;
}

/** `attempt.state_changed` reads `attempt: state changed`. */
function words(type: string): string {
  return type.replace('.', ': ').replace(/_/g, ' ');
}

function facts(event: Event): string {
  return Object.entries(event.data)
    .filter(([, value]) => value !== '' && value !== null)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}
