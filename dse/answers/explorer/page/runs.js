// Evaluates the newest state: one run at a time, at most one an animation frame, an old one aborted.

const WORTH_ENDING_MS = 400; // a run that takes no longer may end: what moves is then seen to move

class Runs {
  // `work(signal)` evaluates the newest state; `schedule` calls back when it is time for it, `later` after a while.
  constructor(work, { schedule = (task) => requestAnimationFrame(task), later = (task, ms) => setTimeout(task, ms), now = () => performance.now() } = {}) {
    Object.assign(this, { work, schedule, later, now });
    this.controller = null;
    this.isWanted = false;
    this.isScheduled = false;
  }

  want() {
    if (this.controller) {
      const { controller } = this;
      if (!this.isWanted) this.later(() => controller.abort(), Math.max(0, this.start + WORTH_ENDING_MS - this.now()));
      this.isWanted = true;
      return;
    }
    this.isWanted = true;
    if (this.isScheduled) return;
    this.isScheduled = true;
    this.schedule(() => {
      this.isScheduled = false;
      this.run();
    });
  }

  async run() {
    this.isWanted = false;
    this.controller = new AbortController();
    this.start = this.now();
    try {
      await this.work(this.controller.signal);
    } finally {
      this.controller = null;
      if (this.isWanted) this.want();
    }
  }

  get isIdle() { return !this.controller && !this.isWanted; }
}

export { Runs };
