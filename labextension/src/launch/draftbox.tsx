import * as React from 'react';

import type { Draft } from '../api-types';
import type { LaunchModel } from './launchmodel';
import { differences, sourceWords } from './launchtext';

/** Words to options: a proposal, shown as what it would change, with why and from where. */
export function DraftBox(props: { model: LaunchModel }): JSX.Element {
  const { model } = props;
  const [words, setWords] = React.useState('');
  const ask = () => void model.askDraft(words);
  const empty = words.trim() === '' && model.sheet.source.trim() === '';
  return (
    <fieldset className="jp-diamond-draft">
      <legend>Draft it for me</legend>
      <div className="jp-diamond-filepath">
        <input
          type="text"
          aria-label="What the work needs, in words"
          placeholder="two A100s, at most 4 hours, cheapest; or nothing, then from the code alone"
          value={words}
          onChange={event => setWords(event.target.value)}
          onKeyDown={event => event.key === 'Enter' && !empty && !model.drafting && ask()}
        />
        <button
          type="button"
          className="jp-diamond-button"
          data-action="draft"
          aria-busy={model.drafting}
          disabled={model.drafting || empty}
          title={empty ? 'Say what it needs, or choose what shall run' : 'Propose the fields below; what is set is kept'}
          onClick={ask}
        >
          {model.drafting ? 'Drafting…' : 'Draft'}
        </button>
      </div>
      {model.draft !== null && <Drafted draft={model.draft} model={model} />}
    </fieldset>
  );
}

function Drafted(props: { draft: Draft; model: LaunchModel }): JSX.Element {
  const { draft, model } = props;
  const changes = differences(model.sheet.values, draft);
  const by = `${sourceWords(draft.source)}${draft.model === null ? '' : ` (${draft.model})`}`;
  return (
    <div className="jp-diamond-drafted" data-part="draft">
      <p>
        {draft.rationale} From {by}, confidence {Math.round(100 * draft.confidence)} %.
      </p>
      {changes.length === 0 ? (
        <p>It would change nothing.</p>
      ) : (
        <table className="jp-diamond-difftable" aria-label="What the draft would change">
          <thead>
            <tr>
              <th scope="col">Option</th>
              <th scope="col">Now</th>
              <th scope="col">Draft</th>
              <th scope="col">Why</th>
            </tr>
          </thead>
          <tbody>
            {changes.map(each => (
              <tr key={each.option} data-option={each.option}>
                <th scope="row">{each.option}</th>
                <td>{each.before === '' ? '–' : <del>{each.before}</del>}</td>
                <td>
                  <ins>{each.after}</ins>
                </td>
                <td>
                  {each.why} <span className="jp-diamond-fine">{each.source}</span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {[...draft.unknown, ...draft.problems].map((line, at) => (
        <p key={at} className="jp-diamond-fine">
          {line}
        </p>
      ))}
      <div className="jp-diamond-draftacts">
        {changes.length > 0 && (
          <button type="button" className="jp-diamond-button" data-action="use-draft" onClick={() => model.endDraft(true)}>
            Use it
          </button>
        )}
        <button type="button" className="jp-diamond-link" data-action="leave-draft" onClick={() => model.endDraft(false)}>
          Leave it
        </button>
      </div>
    </div>
  );
}
