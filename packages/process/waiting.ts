/**
 * Limits the connections of a port that have no running request: if there are too many, the one that has waited longest
 * is closed.
 * @module
 */

/** A connection, or a session of HTTP/2. */
interface Connection {
  readonly destroyed: boolean;
  destroy(): unknown;
  once(event: "close", listener: () => void): unknown;
}

/** Tracks connections. Connections that were not passed to `open` are ignored. */
export interface Waiting {
  /** A connection was opened and waits for its first request. */
  open(connection: Connection): void;
  /** A request has begun on the connection. Returns the number of its running requests. */
  begin(connection: Connection): number;
  /** A request has ended on the connection. If it was the last one, the connection waits again. */
  end(connection: Connection): void;
}

/**
 * Creates the tracker. A token is checked only when a request arrives. So a waiting connection costs a client nothing,
 * but costs the process 10 to 100 kB.
 *
 * @param most connections that may wait at the same time
 */
export function createWaiting(most: number): Waiting {
  /** Running requests, by connection. */
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
