/** Shared informers over a store that says what a test wants. @module */
import { expect, test } from "vitest";
import { type Change, createInformers } from "../../../packages/testing/metacontroller/informer.ts";
import type { Resource, Store, WatchHandler } from "../../../packages/testing/store/store.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";

const PODS: Resource = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true, hasStatus: true };
const owner = (uid: string) => [{ apiVersion: "v1", kind: "Job", name: uid, uid, controller: true }];
const aPod = (name: string, resourceVersion: string, metadata: object = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "ns", resourceVersion, ...metadata },
});

function trial() {
  const handlers: WatchHandler[] = [];
  let ended = 0;
  const watch = (_: Resource, handler: WatchHandler) => {
    handlers.push(handler);
    return () => ended++;
  };
  const informers = createInformers({ watch } as unknown as Store);
  const seen: string[] = [];
  const note = ({ old, current }: Change) =>
    void seen.push(
      [old, current].map((pod) => pod ? `${pod.metadata.name}@${pod.metadata.resourceVersion}` : "-").join(" > "),
    );
  const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 0));
  return { informers, handlers, seen, note, turn, ended: () => ended };
}

test("additions, updates and deletions, in order; what is unchanged is not told", async () => {
  const { informers, handlers, seen, note, turn } = trial();
  const informer = informers.acquire(PODS);
  informer.subscribe(note);
  expect([informer.isSynced(), informers.busy()]).toStrictEqual([false, 1]);
  handlers[0]?.replace([aPod("a", "1"), aPod("b", "1"), aPod("c", "1")]);
  await informer.synced;
  handlers[0]?.changed(aPod("a", "1"));
  handlers[0]?.changed(aPod("a", "2"));
  handlers[0]?.replace([aPod("a", "2"), aPod("b", "3")]);
  handlers[0]?.deleted(aPod("b", "4"));
  handlers[0]?.deleted(aPod("b", "4"));
  await turn();
  expect(seen).toStrictEqual(["- > a@1", "- > b@1", "- > c@1", "a@1 > a@2", "c@1 > -", "b@1 > b@3", "b@4 > -"]);
  expect([informer.isSynced(), informers.busy()]).toStrictEqual([true, 0]);
});

test("a handler that comes late is shown what is there as a resync, until it leaves", async () => {
  const { informers, handlers, seen, note, turn } = trial();
  const informer = informers.acquire(PODS);
  handlers[0]?.replace([aPod("a", "1")]);
  await informer.synced;
  const leave = informer.subscribe(note);
  leave();
  handlers[0]?.changed(aPod("a", "2"));
  await turn();
  expect(seen).toStrictEqual(["a@1 > a@1"]);
});

test("a handler that takes its time holds up the changes behind it, not the cache", async () => {
  const { informers, handlers, seen, note, turn } = trial();
  const { promise, resolve } = Promise.withResolvers<void>();
  const informer = informers.acquire(PODS);
  informer.subscribe(async (change) => {
    await promise;
    note(change);
  });
  handlers[0]?.replace([aPod("a", "1")]);
  handlers[0]?.changed(aPod("a", "2"));
  await turn();
  expect(seen).toStrictEqual([]);
  expect(informer.get("ns", "a")?.metadata.resourceVersion).toBe("2");
  resolve();
  await turn();
  expect(seen).toStrictEqual(["- > a@1", "a@1 > a@2"]);
});

test("one watch for all users of a resource; the last one ends it", () => {
  const { informers, handlers, ended } = trial();
  const [first, second] = [informers.acquire(PODS), informers.acquire(PODS)];
  expect([first === second, handlers.length]).toStrictEqual([true, 1]);
  informers.release(first);
  expect(ended()).toBe(0);
  informers.release(second);
  expect(ended()).toBe(1);
  informers.acquire(PODS);
  expect(handlers.length).toBe(2);
});

test("looks up by namespace, controller and the lack of one, as objects change", () => {
  const { informers, handlers } = trial();
  const informer = informers.acquire(PODS);
  const names = (pods: KubeObject[]) => pods.map(({ metadata }) => metadata.name).sort();
  handlers[0]?.replace([
    aPod("a", "1", { ownerReferences: owner("x") }),
    aPod("b", "1", { ownerReferences: [{ ...owner("x")[0], controller: false }] }),
    aPod("c", "1", { namespace: "ns2", ownerReferences: owner("x") }),
  ]);
  expect(names(informer.ownedBy("x"))).toStrictEqual(["a", "c"]);
  expect(names(informer.ownedBy("x", "ns"))).toStrictEqual(["a"]);
  expect(names(informer.orphans())).toStrictEqual(["b"]);
  expect(names(informer.orphans("ns2"))).toStrictEqual([]);
  expect(names(informer.list("ns"))).toStrictEqual(["a", "b"]);
  handlers[0]?.changed(aPod("a", "2", { ownerReferences: owner("y") }));
  handlers[0]?.deleted(aPod("c", "2", { namespace: "ns2" }));
  expect(names(informer.ownedBy("x"))).toStrictEqual([]);
  expect(names(informer.ownedBy("y"))).toStrictEqual(["a"]);
  expect(names(informer.list())).toStrictEqual(["a", "b"]);
});
