import type { ISignal } from '@lumino/signaling';
import * as React from 'react';

/** Renders the component again at each emission. */
export function useSignal<T, U>(signal: ISignal<T, U>): void {
  const [, bump] = React.useReducer((count: number) => count + 1, 0);
  React.useEffect(() => {
    signal.connect(bump);
    bump();
    return () => void signal.disconnect(bump);
  }, [signal]);
}
