/** Whose turn it is: oldest first within a line, namespaces and pools in rounds, no more at once than may be. @module */
import { expect, test } from "vitest";
import { createSchedulingQueue, type PoolQueue, type Waiter } from "../../packages/binder/queue.ts";

const waiter = (namespace: string, pool: string, rank: string): Waiter => ({
  uid: `${namespace}/${pool}/${rank}`,
  namespace,
  pool,
  rank,
});

function theLines(mostOfOne = 9, ...names: string[]) {
  const lines = createSchedulingQueue<Waiter>(mostOfOne);
  for (const name of names) {
    const [namespace = "", pool = "", rank = ""] = name.split("/");
    lines.add(waiter(namespace, pool, rank));
  }
  const served: Waiter[] = [];
  const take = ({ waiters }: PoolQueue<Waiter>) => {
    const [first] = waiters;
    if (!first) throw new Error("Nobody waits in this line");
    lines.remove(first);
    served.push(first);
    return first.uid;
  };
  /** Serves the first of the next line; undefined: nobody. */
  const next = () => lines.take(take);
  /** Serves until nobody is left. */
  const rest = () => {
    const uids: string[] = [];
    for (let uid = next(); uid !== undefined; uid = next()) uids.push(uid);
    return uids;
  };
  return { lines, served, next, rest };
}

test("the oldest of a line comes first, whenever it came", () => {
  const { rest } = theLines(undefined, "a/p/2", "a/p/3", "a/p/1");
  expect(rest()).toEqual(["a/p/1", "a/p/2", "a/p/3"]);
});

test("rounds go by namespace: one with many claims does not hold up the others", () => {
  const { rest } = theLines(undefined, "a/p/1", "a/p/2", "a/p/3", "b/p/1", "c/p/1", "c/p/2");
  expect(rest()).toEqual(["a/p/1", "b/p/1", "c/p/1", "a/p/2", "c/p/2", "a/p/3"]);
});

test("and within a namespace by pool", () => {
  const { rest } = theLines(undefined, "a/p/1", "a/p/2", "a/q/1", "a/q/2", "b/p/1");
  expect(rest()).toEqual(["a/p/1", "b/p/1", "a/q/1", "a/p/2", "a/q/2"]);
});

test("no more of one namespace are served at once than may be, until one is done", () => {
  const { next, served, lines } = theLines(2, "a/p/1", "a/q/1", "a/p/2", "b/p/1");
  expect([next(), next(), next(), next()]).toEqual(["a/p/1", "b/p/1", "a/q/1", undefined]);
  lines.done(served[1] as Waiter);
  expect(next(), "one of another namespace").toBeUndefined();
  lines.done(served[0] as Waiter);
  expect([next(), next()]).toEqual(["a/p/2", undefined]);
});

test("a namespace that has its most keeps its place until one is done", () => {
  const { next, served, lines } = theLines(1, "a/p/1", "a/p/2", "b/p/1", "b/p/2");
  expect([next(), next(), next()]).toEqual(["a/p/1", "b/p/1", undefined]);
  for (const rank of ["1", "2"]) lines.add(waiter("c", "p", rank));
  expect([next(), next()]).toEqual(["c/p/1", undefined]);
  for (const one of [...served]) lines.done(one);
  expect([next(), next(), next()]).toEqual(["a/p/2", "b/p/2", "c/p/2"]);
});

test("a namespace all of whose claims are being served comes behind those that have waited", () => {
  const { next, lines } = theLines(undefined, "a/p/1");
  expect(next()).toBe("a/p/1");
  for (const namespace of ["b", "a"]) lines.add(waiter(namespace, "p", "2"));
  expect([next(), next()]).toEqual(["b/p/2", "a/p/2"]);
});

test("a line that serves nothing is not looked at until it is woken; the others are", () => {
  const { lines, next } = theLines(undefined, "a/p/1", "b/p/1");
  const looked: string[] = [];
  const refuse = ({ namespace }: PoolQueue<Waiter>) => void looked.push(namespace);
  expect([lines.take(refuse), lines.take(refuse), looked]).toEqual([undefined, undefined, ["a", "b"]]);
  expect(next()).toBeUndefined();
  lines.wake("b", "p");
  lines.wake("b", "p");
  expect([next(), next()]).toEqual(["b/p/1", undefined]);
  expect(lines.find("a", "p")?.waiters).toHaveLength(1);
});

test("a line that is woken while it is looked at is looked at again, next time", () => {
  const { lines, next } = theLines(undefined, "a/p/1", "a/q/1", "b/p/1");
  const looked: string[] = [];
  const wakeAll = ({ namespace, pool }: PoolQueue<Waiter>) => {
    looked.push(`${namespace}/${pool}`);
    lines.wake("a", "p");
  };
  expect([lines.take(wakeAll), looked]).toEqual([undefined, ["a/p", "a/q", "b/p"]]);
  expect([next(), next()]).toEqual(["a/p/1", undefined]);
});

test("a namespace is not held for those that were turned away", () => {
  const { lines, next } = theLines(1, "a/p/1");
  const turnAway = ({ waiters: [first] }: PoolQueue<Waiter>) => first && void lines.remove(first);
  expect(lines.take(turnAway)).toBeUndefined();
  lines.add(waiter("a", "p", "2"));
  expect(next()).toBe("a/p/2");
});

test("a newcomer wakes its line", () => {
  const { lines, rest } = theLines(undefined, "a/p/2");
  lines.take(() => undefined);
  lines.add(waiter("a", "p", "1"));
  expect(rest()).toEqual(["a/p/1", "a/p/2"]);
});

test("waking a line that nobody waits in does nothing", () => {
  const { lines, next } = theLines();
  lines.wake("a", "p");
  expect([next(), lines.find("a", "p")]).toEqual([undefined, undefined]);
});

test("who leaves is not served, and leaves no line behind; leaving twice does nothing", () => {
  const { lines, rest } = theLines(undefined, "a/p/1", "a/p/2", "b/p/1");
  const [first, second] = lines.find("a", "p")?.waiters ?? [];
  lines.remove(first as Waiter);
  lines.remove(first as Waiter);
  expect(lines.pending()).toBe(2);
  lines.remove(second as Waiter);
  expect([lines.pending(), lines.find("a", "p")]).toEqual([1, undefined]);
  expect(rest()).toEqual(["b/p/1"]);
  expect(lines.pending()).toBe(0);
});

test("a line that nothing is taken from is pending no more, until it is woken", () => {
  const { lines } = theLines(undefined, "a/p/1", "a/p/2", "b/p/1");
  expect(lines.take(() => undefined)).toBeUndefined();
  expect(lines.pending()).toBe(0);
  lines.wake("a", "p");
  expect(lines.pending()).toBe(2);
});

test("a pool of the same name elsewhere is another line", () => {
  const { lines } = theLines(undefined, "a/p/1", "b/p/1");
  expect(lines.find("a", "p")?.waiters.map(({ uid }) => uid)).toEqual(["a/p/1"]);
});

test("a cap holds for claims that come while others are being served, though their line was gone in between", () => {
  const { lines, next, served } = theLines(1, "a/p/1");
  expect(next()).toBe("a/p/1");
  lines.add(waiter("a", "p", "2"));
  expect(next()).toBeUndefined();
  lines.done(served[0] as Waiter);
  expect(next()).toBe("a/p/2");
});

test("a place is found without a look at all who wait, in whatever order they come", () => {
  const { lines, rest } = theLines();
  let looks = 0;
  const count = 1000;
  for (let age = count; age > 0; age--) {
    const { rank, ...others } = waiter("a", "p", String(age).padStart(5, "0"));
    lines.add({
      ...others,
      get rank() {
        return looks++, rank;
      },
    });
  }
  expect(looks).toBeLessThan(count * 20);
  expect(rest().slice(0, 2)).toEqual(["a/p/00001", "a/p/00002"]);
});
