/** What the page's address asks for: `?diamond=wall`, `?diamond=tasks`, `?diamond=task:ID`, `?diamond=group:ID`. Pure. */

export const PARAMETER = 'diamond';

export interface Asked {
  readonly kind: string;
  /** Of a task or a group; empty for a screen. */
  readonly id: string;
}

/** Several may be asked for, with commas between them or by naming the parameter again. */
export function askedFor(search: string): Asked[] {
  const words = new URLSearchParams(search).getAll(PARAMETER).flatMap(word => word.split(','));
  return words
    .map(word => word.trim())
    .filter(word => word !== '')
    .map(word => {
      const at = word.indexOf(':');
      return at < 0 ? { kind: word, id: '' } : { kind: word.slice(0, at), id: word.slice(at + 1) };
    });
}

/** The same address without the question, so that a reload restores the layout and not the first answer. */
export function withoutAsked(path: string, search: string, hash: string): string {
  const left = new URLSearchParams(search);
  left.delete(PARAMETER);
  const text = left.toString();
  return path + (text === '' ? '' : `?${text}`) + hash;
}
