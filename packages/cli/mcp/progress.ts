/** Reports the progress of a call to a client that asks for it, at most every 200 ms. @module */

/** Reports the progress of a call. */
export interface Progress {
  tell(message: string): void;
  /** Sends the waiting message, and no more after it. Call it before the result of the call is sent. */
  end(): void;
}

/** The parts of a request that are needed to report progress. */
export interface Told {
  _meta?: { progressToken?: string | number | undefined } | undefined;
  signal: AbortSignal;
  sendNotification(notification: {
    method: "notifications/progress";
    params: { progressToken: string | number; progress: number; message: string };
  }): Promise<void>;
}

const EVERY_MS = 200;
/** Progress messages are short; the result contains more. */
const MOST_CHARACTERS = 2000;

/**
 * Creates the reporter. If the client sent no token, it does nothing. Messages within {@link EVERY_MS} of each other
 * are sent as one, which has the end of the text.
 */
export function createProgress({ _meta, signal, sendNotification }: Told): Progress {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return { tell: () => {}, end: () => {} };
  let waiting = "";
  let progress = 0;
  let hasEnded = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const send = () => {
    timer = undefined;
    if (waiting === "" || signal.aborted) return;
    const message = waiting.slice(-MOST_CHARACTERS).toWellFormed();
    waiting = "";
    if (!hasEnded) timer = setTimeout(send, EVERY_MS);
    // If the client has disconnected, that is not an error.
    sendNotification({ method: "notifications/progress", params: { progressToken, progress: ++progress, message } })
      .catch(() => {});
  };
  return {
    tell(message) {
      if (hasEnded) return;
      waiting = (waiting + message).slice(-2 * MOST_CHARACTERS);
      if (timer === undefined) send();
    },
    end() {
      hasEnded = true;
      clearTimeout(timer);
      send();
    },
  };
}
