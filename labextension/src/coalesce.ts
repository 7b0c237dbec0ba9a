/** Runs a job at most once per interval, never twice at once; calls in between fold into one later run. */
export class Coalescer {
  constructor(
    private readonly _job: () => Promise<void>,
    private readonly _interval = 250
  ) {}

  /** Ask for a run: at once when none was lately, else at the interval's end. */
  ask(): void {
    if (this._disposed || this._timer !== null) {
      return;
    }
    if (this._busy) {
      this._again = true;
      return;
    }
    const wait = Math.max(0, this._last + this._interval - Date.now());
    this._timer = window.setTimeout(() => {
      this._timer = null;
      void this._run();
    }, wait);
  }

  dispose(): void {
    this._disposed = true;
    if (this._timer !== null) {
      window.clearTimeout(this._timer);
      this._timer = null;
    }
  }

  private async _run(): Promise<void> {
    this._busy = true;
    this._last = Date.now();
    try {
      await this._job();
    } finally {
      this._busy = false;
      if (this._again) {
        this._again = false;
        this.ask();
      }
    }
  }

  private _timer: number | null = null;
  private _busy = false;
  private _again = false;
  private _last = 0;
  private _disposed = false;
}
