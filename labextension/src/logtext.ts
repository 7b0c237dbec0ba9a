/** A job's log as text: terminal control is taken out, `\r` redraws its line. Pure. */

/** CSI and OSC sequences, two-character escapes, and control characters other than tab, newline, return and backspace. */
// eslint-disable-next-line no-control-regex
const CONTROL = /\x1b\[[0-9;:?<=>]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\^_]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g;
/** An escape sequence that the chunk's end may have cut. */
// eslint-disable-next-line no-control-regex
const CUT = /\x1b(?:\[[0-9;:?<=>]*[ -/]*|\][^\x07\x1b]{0,200}\x1b?)?$/;

/** One line as a terminal would have left it: what follows the last `\r` overwrites from the left. */
export function settle(line: string): string {
  const clean = line.replace(CONTROL, '').replace(/\r+$/, '');
  if (!clean.includes('\r')) {
    return clean;
  }
  return clean.split('\r').reduce((shown, next) => next + shown.slice(next.length));
}

/** Splits a stream of chunks into settled lines and the line that is still being written. */
export class LogLines {
  private _open = '';

  /** Returns what is finished now (with its newlines) and the open line after it. */
  push(chunk: string): { settled: string; open: string } {
    const lines = (this._open + chunk).split('\n');
    this._open = lines.pop() ?? '';
    const settled = lines.map(line => settle(line) + '\n').join('');
    return { settled, open: settle(this._open.replace(CUT, '')) };
  }
}
