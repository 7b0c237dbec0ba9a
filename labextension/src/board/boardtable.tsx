import { useVirtualizer } from '@tanstack/react-virtual';
import * as React from 'react';

import type { BoardModel } from './boardmodel';
import { BoardRow } from './boardrow';
import type { Line, SortBy } from './lines';

const ROW = 26;
const HEAD = 26;
const COLUMNS: readonly (readonly [SortBy | null, string, string])[] = [
  ['state', 'State', ''],
  ['name', 'Name', ''],
  ['place', 'Place', 'Site and partition'],
  ['submitted', 'Submitted', 'When it was submitted; UTC on hover'],
  ['time', 'Time', 'Elapsed of its limit, waiting since, or how long it took'],
  [null, 'Notebook', 'Of a member: what it is given'],
  [null, 'Why', 'Why it ended, or what stands in its way']
];

interface TableProps {
  readonly model: BoardModel;
  readonly id: string;
  readonly open: (line: Line) => void;
  readonly takesFocus: () => boolean;
}

/** All lines, of which only those in sight are drawn. */
export function BoardTable(props: TableProps): JSX.Element {
  const { model, id, open, takesFocus } = props;
  const grid = React.useRef<HTMLDivElement>(null);
  const anchor = React.useRef('');
  const rows = useVirtualizer({
    count: model.lines.length,
    getScrollElement: () => grid.current,
    estimateSize: () => ROW,
    overscan: 8,
    scrollMargin: HEAD,
    scrollPaddingStart: HEAD,
    useFlushSync: false
  });
  React.useEffect(() => {
    if (model.index >= 0) {
      rows.scrollToIndex(model.index, { align: 'auto' });
    }
  }, [model.active]);
  React.useEffect(() => {
    if (takesFocus()) {
      grid.current?.focus();
    }
  }, []);
  const items = rows.getVirtualItems();
  // a row that leaves at one end comes back at the other with another line: changing its text costs less than a new one
  const slots = 2 ** Math.ceil(Math.log2(items.length + 1));
  const inSight = items.some(item => item.index === model.index);
  return (
    <div
      ref={grid}
      className="jp-diamond-board"
      role="treegrid"
      aria-label="Tasks"
      aria-multiselectable="true"
      aria-rowcount={model.lines.length + 1}
      aria-colcount={COLUMNS.length + 1}
      tabIndex={0}
      {...(inSight ? { 'aria-activedescendant': `${id}-${model.active}` } : {})}
      onKeyDown={event => onKey(event, model, open)}
      onFocus={event => event.target === grid.current && model.index < 0 && model.step(1)}
      onClick={event => {
        anchor.current = onClick(event, model, open, anchor.current);
      }}
    >
      <Head model={model} />
      <div role="rowgroup" className="jp-diamond-boardbody" style={{ height: rows.getTotalSize() }}>
        {items.map(item => {
          const line = model.lines[item.index];
          return line === undefined ? null : (
            <BoardRow
              key={item.index % slots}
              line={line}
              at={item.index}
              top={item.start - HEAD}
              chosen={model.chosen.has(line.id)}
              active={line.id === model.active}
              domId={`${id}-${line.id}`}
            />
          );
        })}
      </div>
    </div>
  );
}

function Head(props: { model: BoardModel }): JSX.Element {
  const { model } = props;
  const tops = React.useMemo(() => model.lines.filter(line => line.kind === 'task' || line.kind === 'group').length, [model.lines]);
  const some = model.chosen.size > 0;
  const all = some && model.chosen.size >= tops;
  const box = React.useRef<HTMLInputElement>(null);
  React.useEffect(() => {
    if (box.current !== null) {
      box.current.indeterminate = some && !all;
    }
  }, [some, all]);
  return (
    <div role="rowgroup" className="jp-diamond-boardhead">
      <div role="row" aria-rowindex={1} className="jp-diamond-boardrow">
        <span role="columnheader" className="jp-diamond-check">
          <input
            ref={box}
            type="checkbox"
            checked={all}
            aria-label={some ? 'Choose none' : 'Choose all that are listed'}
            onChange={() => model.chooseAll(!some)}
          />
        </span>
        {COLUMNS.map(([by, word, title]) => (
          <span
            key={word}
            role="columnheader"
            title={title}
            {...(by === model.order.by ? { 'aria-sort': model.order.down ? 'descending' : 'ascending' } : {})}
          >
            {by === null ? (
              word
            ) : (
              <button type="button" data-sort={by} onClick={() => model.sort(by)}>
                {word}
                {by === model.order.by && <span aria-hidden="true">{model.order.down ? ' ↓' : ' ↑'}</span>}
              </button>
            )}
          </span>
        ))}
      </div>
    </div>
  );
}

/** Gives the line from which a range is chosen next. */
function onClick(event: React.MouseEvent, model: BoardModel, open: TableProps['open'], anchor: string): string {
  const target = event.target as HTMLElement;
  const row = target.closest<HTMLElement>('[data-line]');
  const line = row === null ? undefined : model.lines[Number(row.dataset['at'])];
  if (line === undefined || line.kind === 'wait') {
    return anchor;
  }
  model.stand(line.id);
  if (event.shiftKey && anchor !== '') {
    const from = model.lines.findIndex(each => each.id === anchor);
    const to = model.index;
    for (let at = Math.min(from, to); from >= 0 && at <= Math.max(from, to); at++) {
      model.choose(model.lines[at]?.id ?? '', true);
    }
    return anchor;
  }
  if (target.closest('.jp-diamond-check') !== null || event.ctrlKey || event.metaKey) {
    model.choose(line.id);
  } else if (line.kind === 'group' && target.closest('[data-fold]') !== null) {
    model.fold(line.id);
  } else {
    open(line);
  }
  return line.id;
}

/** Arrows step and fold, Space chooses, Enter opens, Ctrl+A chooses all, Escape none. */
function onKey(event: React.KeyboardEvent<HTMLDivElement>, model: BoardModel, open: TableProps['open']): void {
  if ((event.target as HTMLElement).closest('.jp-diamond-boardhead') !== null) {
    return;
  }
  const line = model.lines[model.index];
  const page = Math.max(1, Math.floor((event.currentTarget.clientHeight - HEAD) / ROW) - 1);
  const far = model.lines.length;
  const steps: { [key: string]: number } = {
    ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -far, End: far
  };
  const step = steps[event.key];
  if (step !== undefined) {
    model.step(step, event.shiftKey && Math.abs(step) === 1);
  } else if (event.key === ' ' && line !== undefined) {
    model.choose(line.id);
  } else if (event.key === 'Enter' && line !== undefined) {
    open(line);
  } else if (event.key === 'ArrowRight' && line?.kind === 'group') {
    model.fold(line.id, true);
  } else if (event.key === 'ArrowLeft' && (line?.kind === 'group' || line?.kind === 'member')) {
    model.stand(line.group.id);
    model.fold(line.group.id, false);
  } else if (event.key === 'a' && (event.ctrlKey || event.metaKey)) {
    model.chooseAll(true);
  } else if (event.key === 'Escape' && model.chosen.size > 0) {
    model.chooseAll(false);
  } else {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
}
