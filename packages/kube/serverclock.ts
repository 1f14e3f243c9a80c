/**
 * Computes the API server's time from the Date header of its answers and the process' monotonic clock. Processes that
 * decide about the same object by time use it, as their own wall clocks may differ.
 * @module
 */

export interface ServerClock {
  /**
   * Learns from an answer.
   *
   * @param date the Date header, in whole seconds; undefined, or not a date: the answer is ignored
   * @param sentAt when the request was sent, in milliseconds of the monotonic clock
   * @param at when the answer came, by the same clock
   */
  answered(date: string | undefined, sentAt: number, at: number): void;
  /** Returns the time in milliseconds since the epoch; undefined: no answer had a date. */
  now(): number | undefined;
}

/**
 * Creates the clock. The server sent each answer between `sentAt` and `at`, and the date was at most a second old then: this
 * bounds the server's time. The clock uses the highest lower bound, so it is at most a second late.
 */
export function createServerClock(monotonic: () => number = () => performance.now()): ServerClock {
  /** The server's time minus the monotonic clock, in milliseconds. */
  let ahead: number | undefined;
  return {
    answered(date = "", sentAt, at) {
      const then = Date.parse(date);
      if (Number.isNaN(then)) return;
      const [least, most] = [then - at, then + 1000 - sentAt];
      // Above the upper bound: the server's clock was set back, or this machine's clock runs fast.
      ahead = ahead === undefined || ahead > most ? least : Math.max(ahead, least);
    },
    now: () => ahead === undefined ? undefined : monotonic() + ahead,
  };
}
