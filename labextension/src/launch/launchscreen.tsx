import type { Message } from '@lumino/messaging';
import * as React from 'react';

import { Notice } from '../notice';
import { ScreenContext, ScreenView } from '../screens/view';
import { useSignal } from '../signal';
import { BottomBar } from './bottombar';
import { DraftBox } from './draftbox';
import { FieldBox, Suggestions } from './fieldbox';
import { FIELDS, Field, MORE, PLACE, SIZE } from './fields';
import { LaunchModel } from './launchmodel';
import { refusedFields } from './launchtext';
import { WhatBox } from './whatbox';
import { WhereBox } from './wherebox';

/** What shall run, what it needs, where it would go now, and one button. */
export class LaunchScreen extends ScreenView {
  constructor(context: ScreenContext) {
    super(context.pool);
    this.addClass('jp-diamond-screen');
    this.addClass('jp-diamond-launch');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', 'Diamond launch sheet');
    this.node.tabIndex = -1;
    this._model = new LaunchModel(context.pool, context.desk, context.openTask);
    this.watchedChanged.connect((_, watched) => this._model.watch(watched));
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._model.dispose();
      super.dispose();
    }
  }

  protected override draw(): JSX.Element {
    return <Sheet model={this._model} />;
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    this.node.focus({ preventScroll: true });
  }

  private readonly _model: LaunchModel;
}

function Sheet(props: { model: LaunchModel }): JSX.Element {
  const { model } = props;
  useSignal(model.changed);
  useSignal(model.pool.changed);
  const refused = refusedFields(model.decision);
  const draw = (field: Field) => (
    <FieldBox
      key={field.name}
      field={field}
      value={model.sheet.values[field.name] ?? ''}
      problem={model.read?.problems[field.name] ?? ''}
      refusal={refused.get(field.name) ?? null}
      change={text => model.setValue(field.name, text)}
    />
  );
  const used = MORE.filter(field => (model.sheet.values[field.name] ?? '') !== '' || model.read?.problems[field.name]);
  return (
    <>
      <Notice pool={model.pool} />
      <div className="jp-diamond-launchbody">
        <form className="jp-diamond-launchform" aria-label="What it is and needs" onSubmit={event => event.preventDefault()}>
          <WhatBox model={model} />
          <DraftBox model={model} />
          <fieldset>
            <legend>Size</legend>
            <div className="jp-diamond-fields">{SIZE.map(draw)}</div>
          </fieldset>
          <fieldset>
            <legend>Place, time and money</legend>
            <div className="jp-diamond-fields">{PLACE.map(draw)}</div>
          </fieldset>
          <details className="jp-diamond-more" open={used.length > 0 ? true : undefined}>
            <summary>More: environment, data, machine{used.length > 0 && ` (${used.length} set)`}</summary>
            <div className="jp-diamond-fields">{MORE.map(draw)}</div>
          </details>
          <Suggestions pool={model.pool} />
          <Strange problems={model.read?.problems ?? {}} />
        </form>
        <WhereBox model={model} />
      </div>
      <BottomBar model={model} />
    </>
  );
}

/** What is wrong with an option that has no field here. */
function Strange(props: { problems: { readonly [name: string]: string } }): JSX.Element | null {
  const here = new Set([...FIELDS.map(field => field.name), 'name', 'outputs']);
  const found = Object.entries(props.problems).filter(([name]) => !here.has(name));
  return found.length === 0 ? null : (
    <p className="jp-diamond-fieldproblem" role="alert">
      {found.map(([, sentence]) => sentence).join(' ')}
    </p>
  );
}
