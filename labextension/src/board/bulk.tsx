import { Dialog, showDialog } from '@jupyterlab/apputils';
import * as React from 'react';

import type { PoolApi } from '../api';
import { Act, Chosen, Meant, consequence, meant, named, outcomeText, question } from './acts';
import type { BoardModel } from './boardmodel';

/** So many requests at once: the server writes each by itself, and has other pages to answer, too. */
const AT_ONCE = 4;

/** Asks, names what would happen, does it one by one, and says what came of it. */
export async function actOnChosen(model: BoardModel, act: Act): Promise<void> {
  const wanted = meant(act, model.chosenLines);
  if (wanted.targets.length === 0) {
    model.tell(`Nothing to ${act === 'cancel' ? 'cancel' : 'plan anew'}: ${wanted.left.join(', ') || 'nothing is chosen'}.`);
    return;
  }
  const verb = act === 'cancel' ? 'Cancel' : 'Plan anew';
  const { button } = await showDialog({
    title: question(wanted),
    body: <Question wanted={wanted} />,
    buttons: [
      Dialog.cancelButton({ label: 'Keep them' }),
      act === 'cancel' ? Dialog.warnButton({ label: verb }) : Dialog.okButton({ label: verb })
    ],
    defaultButton: 0
  });
  if (button.accept) {
    model.tell(outcomeText(wanted, await doAll(model, wanted)));
    model.chooseAll(false);
  }
}

function Question(props: { wanted: Meant }): JSX.Element {
  const { wanted } = props;
  return (
    <div className="jp-diamond-question" data-part="question">
      <p>{consequence(wanted.act)}</p>
      <ul>
        {named(wanted.targets).map((line, at) => (
          <li key={at}>{line}</li>
        ))}
      </ul>
      {wanted.left.length > 0 && <p className="jp-diamond-fine">Left as it is: {wanted.left.join('; ')}.</p>}
    </div>
  );
}

async function doAll(model: BoardModel, wanted: Meant): Promise<string[]> {
  const failed: string[] = [];
  const waiting = [...wanted.targets];
  let done = 0;
  const one = async (): Promise<void> => {
    for (let line = waiting.shift(); line !== undefined; line = waiting.shift()) {
      try {
        await request(model.pool.api, wanted.act, line);
      } catch (reason) {
        const name = line.kind === 'group' ? line.group.name : line.task.name;
        failed.push(`${name}: ${reason instanceof Error ? reason.message : String(reason)}`);
      }
      done += 1;
      model.tell('', `${done} of ${wanted.targets.length}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return failed;
}

function request(api: PoolApi, act: Act, line: Chosen): Promise<unknown> {
  if (line.kind === 'group') {
    return api.onGroup(line.id, act);
  }
  return act === 'cancel' ? api.cancel(line.id) : api.replan(line.id);
}
