import * as React from 'react';

interface Props<Name extends string> {
  tabs: { readonly [name in Name]: string };
  chosen: Name;
  choose: (name: Name) => void;
  owner: string;
}

/** Tabs as the ARIA pattern has them: one stop for the Tab key, arrows choose. */
export function TabStrip<Name extends string>(props: Props<Name>): JSX.Element {
  const { tabs, chosen, choose, owner } = props;
  const names = Object.keys(tabs) as Name[];
  const strip = React.useRef<HTMLDivElement>(null);
  const onKeyDown = (event: React.KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = step === undefined ? undefined : names[(names.indexOf(chosen) + step + names.length) % names.length];
    if (next !== undefined) {
      event.preventDefault();
      choose(next);
      strip.current?.querySelector<HTMLElement>(`[data-tab="${next}"]`)?.focus();
    }
  };
  return (
    <div className="jp-diamond-tabs" role="tablist" ref={strip} onKeyDown={onKeyDown}>
      {names.map(name => (
        <button
          key={name}
          type="button"
          role="tab"
          id={`${owner}-${name}`}
          data-tab={name}
          aria-selected={name === chosen}
          aria-controls={`${owner}-body`}
          tabIndex={name === chosen ? 0 : -1}
          onClick={() => choose(name)}
        >
          {tabs[name]}
        </button>
      ))}
    </div>
  );
}
