import * as React from 'react';

export interface Loaded<T> {
  readonly value: T | null;
  readonly problem: string;
}

/** Loads again whenever the key changes; keeps the value before until the new one is there. */
export function useLoaded<T>(load: () => Promise<T>, key: string | number): Loaded<T> {
  const [state, setState] = React.useState<Loaded<T>>({ value: null, problem: '' });
  React.useEffect(() => {
    let gone = false;
    load().then(
      value => gone || setState({ value, problem: '' }),
      (reason: unknown) =>
        gone ||
        setState(before => ({ ...before, problem: reason instanceof Error ? reason.message : String(reason) }))
    );
    return () => {
      gone = true;
    };
  }, [key]);
  return state;
}
