/** createWaiting(): of connections without a request the oldest ends, of others none. @module */
import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { createIdleConnections } from "../../packages/process/connections.ts";

class Connection extends EventEmitter {
  destroyed = false;

  destroy(): void {
    this.destroyed = true;
    this.emit("close");
  }
}

const some = (count: number) => Array.from({ length: count }, () => new Connection());

test("the oldest that waits ends for one too many; one with a request under way never", () => {
  const waiting = createIdleConnections(2);
  const [a, b, c, d, e] = some(5) as [Connection, Connection, Connection, Connection, Connection];
  for (const one of [a, b]) waiting.open(one);
  expect(waiting.begin(a)).toBe(1);
  expect(waiting.begin(a)).toBe(2);
  for (const one of [c, d]) waiting.open(one);
  expect([a, b, c, d].map(({ destroyed }) => destroyed)).toEqual([false, true, false, false]);
  waiting.end(a);
  waiting.open(e);
  expect([a, c, d, e].map(({ destroyed }) => destroyed)).toEqual([false, true, false, false]);
  waiting.end(a);
  expect([a, d, e].map(({ destroyed }) => destroyed), "it waits again, as the youngest").toEqual([false, true, false]);
});

test("what has closed takes no place, and what was never opened none either", () => {
  const waiting = createIdleConnections(1);
  const [a, b, stranger] = some(3) as [Connection, Connection, Connection];
  waiting.open(a);
  waiting.begin(a);
  a.destroy();
  waiting.end(a);
  waiting.open(b);
  expect(waiting.begin(stranger)).toBe(0);
  waiting.end(stranger);
  expect([b, stranger].map(({ destroyed }) => destroyed)).toEqual([false, false]);
});
