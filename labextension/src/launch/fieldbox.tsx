import * as React from 'react';

import type { PoolModel } from '../pool';
import type { Field } from './fields';
import type { Refusal } from './launchtext';

interface Props {
  /** Whose field it is: two sheets may be open at once. */
  readonly place?: string;
  readonly field: Field;
  readonly value: string;
  readonly problem: string;
  readonly refusal: Refusal | null;
  readonly change: (text: string) => void;
}

const LISTS: { readonly [option: string]: string } = { site: 'places', 'gpu-model': 'kinds' };

/** One option: its field, and beneath it what is wrong with it, or what would have to stand there. */
export function FieldBox(props: Props): JSX.Element {
  const { place = 'launch', field, value, problem, refusal, change } = props;
  const id = `jp-diamond-${place}-${field.name}`;
  const wrong = problem !== '';
  const said = { id, title: field.title, 'aria-invalid': wrong, 'aria-describedby': `${id}-said`, 'data-option': field.name };
  return (
    <div className={`jp-diamond-field${wrong ? ' jp-mod-wrong' : ''}`} data-field={field.name}>
      <label htmlFor={id} title={field.title}>
        {field.label}
      </label>
      {field.flag === true ? (
        <input {...said} type="checkbox" checked={value !== ''} onChange={event => change(event.target.checked ? 'yes' : '')} />
      ) : field.choices !== undefined ? (
        <select {...said} value={value} onChange={event => change(event.target.value)}>
          {field.choices.map((choice, at) => (
            <option key={choice} value={at === 0 ? '' : choice}>
              {choice.replace(/_/g, ' ')}
            </option>
          ))}
          {value !== '' && !field.choices.includes(value) && <option value={value}>{value}</option>}
        </select>
      ) : (
        <input
          {...said}
          type="text"
          value={value}
          placeholder={field.hint}
          spellCheck={false}
          autoComplete="off"
          list={LISTS[field.name] && `jp-diamond-${place}-${LISTS[field.name]}`}
          onChange={event => change(event.target.value)}
        />
      )}
      <div id={`${id}-said`} className="jp-diamond-fieldsaid">
        {wrong && <p className="jp-diamond-fieldproblem">{problem}</p>}
        {!wrong && refusal !== null && (
          <p className="jp-diamond-fieldproblem" data-part="refusal">
            {refusal.sentence}{' '}
            <button type="button" className="jp-diamond-link" onClick={() => change(refusal.change)}>
              Write {refusal.change}
            </button>
          </p>
        )}
      </div>
    </div>
  );
}

/** What the pool has, to choose from while typing. */
export function Suggestions(props: { pool: PoolModel; place?: string }): JSX.Element {
  const { place = 'launch' } = props;
  const records = (props.pool.snapshot?.sites ?? []).filter(site => !site.simulated).flatMap(site => site.records);
  const places = records.map(record => `${record.site}:${record.partition}`);
  const kinds = records.flatMap(record => record.shapes.map(shape => shape.gpu_model ?? ''));
  const list = (names: string[]) =>
    [...new Set(names)].filter(name => name !== '').sort().map(name => <option key={name} value={name} />);
  return (
    <>
      <datalist id={`jp-diamond-${place}-places`}>{list(places)}</datalist>
      <datalist id={`jp-diamond-${place}-kinds`}>{list(kinds)}</datalist>
    </>
  );
}
