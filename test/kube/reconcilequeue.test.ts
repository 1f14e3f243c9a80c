import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createReconcileQueue, type ReconcileQueue, type Reconciler } from "../../packages/kube/reconcilequeue.ts";

type Thing = { metadata: { name: string; uid: string; namespace?: string }; due?: number };

let end: AbortController;
let acts: string[];
let act: (thing: Thing) => Promise<void>;
let reconciler: Reconciler<Thing>;
let lines: string[];

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  end = new AbortController();
  acts = [];
  lines = [];
  act = () => Promise.resolve();
  const memory = new Map<string, unknown>();
  reconciler = {
    name: "test",
    memory,
    dueAt: ({ due, metadata: { uid } }) => memory.has(uid) ? undefined : due,
    async reconcile(thing) {
      acts.push(`${thing.metadata.name}@${Date.now()}`);
      await act(thing);
      memory.set(thing.metadata.uid, true);
    },
  };
});
afterEach(() => {
  end.abort();
  vi.useRealTimers();
});

const thing = (name: string, due?: number, namespace = "team-a"): Thing => ({
  metadata: { name, uid: name, namespace },
  ...(due === undefined ? {} : { due }),
});
const queue = (concurrency = 4): ReconcileQueue<Thing> =>
  createReconcileQueue(reconciler, { log: (_, line) => lines.push(line), concurrency }, end.signal);

describe("createReconcileQueue()", () => {
  test("acts when it is due, at once or later, and once", async () => {
    const handler = queue();
    handler.observe(thing("later", 5000));
    handler.observe(thing("now", 0));
    handler.observe(thing("never"));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(acts).toEqual(["now@0", "later@5000"]);
  });

  test("follows what is observed last", async () => {
    const handler = queue();
    handler.observe(thing("a", 5000));
    handler.observe(thing("a", 2000));
    handler.observe(thing("b", 1000));
    handler.observe(thing("b"));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(acts).toEqual(["a@2000"]);
  });

  test("waits for days without a hot loop", async () => {
    const asked = vi.spyOn(reconciler, "dueAt");
    queue().observe(thing("a", 30 * 86_400_000));
    await vi.advanceTimersByTimeAsync(31 * 86_400_000);
    expect(acts).toEqual([`a@${30 * 86_400_000}`]);
    expect(asked.mock.calls.length).toBeLessThan(40);
  });

  test("acts on a few at once, and never twice on one", async () => {
    const running = new Set<string>();
    let most = 0;
    act = async ({ metadata: { name } }) => {
      expect(running.has(name)).toBe(false);
      running.add(name);
      most = Math.max(most, running.size);
      await new Promise((resolve) => setTimeout(resolve, 1000));
      running.delete(name);
    };
    const handler = queue(3);
    for (const name of ["a", "b", "c", "d", "e", "a", "b"]) handler.observe(thing(name, 0));
    await vi.advanceTimersByTimeAsync(500);
    handler.observe(thing("a", 0));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(acts).toEqual(["a@0", "b@0", "c@0", "d@1000", "e@1000"]);
    expect(most).toBe(3);
  });

  test("goes round by namespace", async () => {
    act = () => new Promise((resolve) => setTimeout(resolve, 1000));
    const handler = queue(1);
    for (const name of ["a1", "a2", "a3", "b1", "b2", "c1"]) handler.observe(thing(name, 0, name.slice(0, 1)));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(acts.map((entry) => entry.split("@")[0])).toEqual(["a1", "a2", "b1", "c1", "a3", "b2"]);
  });

  test("judges again what it was asked to, and lets other events through after a few", async () => {
    const asked = vi.spyOn(reconciler, "dueAt");
    const handler = queue();
    for (let i = 0; i < 500; i++) {
      const object = thing(`t${i}`, i === 400 ? 0 : undefined);
      handler.requeue({ metadata: object.metadata, whole: object });
    }
    for (let i = 0; i < 5000; i++) await Promise.resolve();
    expect(asked.mock.calls.length).toBeLessThan(100);
    await vi.advanceTimersByTimeAsync(1000);
    expect(new Set(asked.mock.calls.map(([{ metadata }]) => metadata.uid)).size).toBe(500);
    expect(acts).toHaveLength(1);
  });

  test("judges anew what waits, or is acted upon", async () => {
    const handler = queue();
    const waiting = thing("waiting", 5000);
    const busy = thing("busy", 0);
    act = () => new Promise((resolve) => setTimeout(resolve, 1000));
    handler.observe(waiting);
    handler.observe(busy);
    const { dueAt } = reconciler;
    reconciler.dueAt = (object, now) => acts.length < 3 ? 0 : dueAt(object, now);
    for (const object of [waiting, busy]) handler.requeue({ metadata: object.metadata, whole: object });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(acts).toEqual(["busy@0", "waiting@0", "busy@1000"]);
  });

  test("does not act on what has changed while it was queued", async () => {
    act = () => new Promise((resolve) => setTimeout(resolve, 1000));
    const handler = queue(1);
    handler.observe(thing("a", 0));
    handler.observe(thing("b", 0));
    handler.observe(thing("c", 0));
    handler.observe(thing("b"));
    handler.gone("c");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(acts).toEqual(["a@0"]);
  });

  test("acts again on what changed since then", async () => {
    act = async () => {
      await new Promise((resolve) => setTimeout(resolve, 1000));
    };
    const handler = queue();
    handler.observe(thing("a", 0));
    await vi.advanceTimersByTimeAsync(500);
    reconciler.dueAt = ({ due }) => acts.length < 2 ? due : undefined;
    handler.observe(thing("a", 3000));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(acts).toEqual(["a@0", "a@3000"]);
  });

  test("tries again after 1, 2, 4 … 30 s what fails, whatever is observed in between", async () => {
    act = () => acts.length < 8 ? Promise.reject(new Error("no")) : Promise.resolve();
    const handler = queue();
    handler.observe(thing("a", 0));
    await vi.advanceTimersByTimeAsync(500);
    handler.observe(thing("a", 0));
    await vi.advanceTimersByTimeAsync(300_000);
    expect(acts.map((entry) => Number(entry.split("@")[1]) / 1000)).toEqual([0, 1, 3, 7, 15, 31, 61, 91]);
    expect(lines).toHaveLength(7);
  });

  test("forgets what is gone, even if it goes while it is acted upon", async () => {
    const handler = queue();
    handler.observe(thing("a", 0));
    await vi.advanceTimersByTimeAsync(1);
    expect([...reconciler.memory.keys()]).toEqual(["a"]);
    handler.gone("a");
    act = () => new Promise((resolve) => setTimeout(resolve, 1000));
    handler.observe(thing("b", 0));
    handler.gone("b");
    await vi.advanceTimersByTimeAsync(2000);
    expect([...reconciler.memory.keys()]).toEqual([]);
  });

  test("forgets what is gone", async () => {
    const handler = queue();
    handler.observe(thing("done", 0));
    handler.observe(thing("kept", 5000));
    handler.observe(thing("lost", 5000));
    await vi.advanceTimersByTimeAsync(1);
    handler.gone("done");
    handler.gone("lost");
    expect([...reconciler.memory.keys()]).toEqual([]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(acts).toEqual(["done@0", "kept@5000"]);
  });

  test("begins nothing after the end", async () => {
    const handler = queue(1);
    act = () => new Promise((resolve) => setTimeout(resolve, 1000));
    handler.observe(thing("a", 0));
    handler.observe(thing("b", 0));
    handler.observe(thing("c", 500));
    end.abort();
    handler.observe(thing("d", 0));
    handler.observe(thing("e", 500));
    expect(vi.getTimerCount(), "the act's own").toBe(1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(acts).toEqual(["a@0"]);
  });
});
