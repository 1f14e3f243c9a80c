/** Connections of a port on which no request is under way: where there are too many of them the oldest ends. @module */

/** A connection, or a session of HTTP/2. */
interface Connection {
  readonly destroyed: boolean;
  destroy(): unknown;
  once(event: "close", listener: () => void): unknown;
}

/** Keeps count of them. What it was not told of by `open` is none of its business. */
export interface Waiting {
  /** A connection was opened, and waits for its first request. */
  open(connection: Connection): void;
  /** A request has begun on it. Returns how many are under way on it now. */
  begin(connection: Connection): number;
  /** A request has ended on it; without others it waits again. */
  end(connection: Connection): void;
}

/**
 * Makes the count. Nobody is asked for a token before there is a request, so what waits for one costs whoever opens it
 * nothing, and the process some 10 to 100 kB.
 *
 * @param most connections that wait at a time
 */
export function createWaiting(most: number): Waiting {
  /** Requests under way, by connection. */
  const running = new Map<Connection, number>();
  /** In the order in which they began to wait. */
  const waiting = new Set<Connection>();
  const wait = (connection: Connection) => {
    waiting.add(connection);
    if (waiting.size <= most) return;
    const [oldest] = waiting;
    if (!oldest) return;
    waiting.delete(oldest);
    oldest.destroy();
  };
  return {
    open(connection) {
      running.set(connection, 0);
      connection.once("close", () => {
        running.delete(connection);
        waiting.delete(connection);
      });
      wait(connection);
    },
    begin(connection) {
      const count = running.get(connection);
      if (count === undefined) return 0;
      waiting.delete(connection);
      running.set(connection, count + 1);
      return count + 1;
    },
    end(connection) {
      const count = running.get(connection);
      if (count === undefined) return;
      running.set(connection, count - 1);
      if (count === 1 && !connection.destroyed) wait(connection);
    },
  };
}
