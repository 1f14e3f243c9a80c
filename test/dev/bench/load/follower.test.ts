/** @module */
import { expect, onTestFinished, test } from "vitest";
import { type Followed, followReady } from "../../../../dev/bench/load/follower.ts";
import type { Api, WatchEvent } from "../../../../packages/kube/api.ts";

function aClaim(name: string, status: "True" | "False" | "", uid = `uid-${name}`): Followed {
  const condition = {
    type: "Ready",
    status: status || "False",
    reason: "R",
    message: "",
    lastTransitionTime: "",
  } as const;
  return {
    metadata: { namespace: "ns", name, uid },
    ...(status === "" ? {} : { status: { conditions: [condition] } }),
  };
}

/** An API with one collection: what is listed, and events that the test sends. */
function anApi(items: Followed[]) {
  const waiting: WatchEvent[] = [];
  let wake = () => {};
  const api: Api = {
    send: () => Promise.resolve({ status: 200, body: { items, metadata: { resourceVersion: "1" } } }),
    watch: () => Promise.resolve({ status: 200, body: null, events: events() }),
  };
  async function* events() {
    for (;;) {
      yield* waiting.splice(0);
      if (waiting.length === 0) await new Promise<void>((resolve) => wake = resolve);
    }
  }
  const say = (type: string, object: Followed) => {
    waiting.push({ type, object });
    wake();
  };
  return { api, say };
}

async function follow(items: Followed[], onObject?: (object: Followed) => void) {
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  const { api, say } = anApi(items);
  return { say, ending, follower: await followReady(api, "sandboxclaims", ending.signal, onObject) };
}

test("followReady() knows what was there, and notes when each is Ready for the first time", async () => {
  const seen: string[] = [];
  const { follower, say } = await follow(
    [aClaim("a", "True"), aClaim("b", "")],
    ({ metadata }) => seen.push(metadata.name),
  );
  expect([...follower.readyAt.keys()]).toEqual(["ns/a"]);
  const first = follower.readyAt.get("ns/a");
  say("MODIFIED", aClaim("b", "False"));
  say("MODIFIED", aClaim("a", "True"));
  say("MODIFIED", aClaim("b", "True"));
  expect(await follower.until(() => follower.readyAt.has("ns/b"), 5)).toBe(true);
  expect(follower.readyAt.get("ns/a")).toBe(first);
  expect(seen).toEqual(["a", "b", "b", "a", "b"]);
});

test("followReady() forgets what is gone, but not that it was Ready, nor another one of its name", async () => {
  const { follower, say } = await follow([aClaim("a", "True"), aClaim("b", "True")]);
  say("DELETED", aClaim("a", "True"));
  say("ADDED", aClaim("b", "False", "uid-new"));
  say("DELETED", aClaim("b", "True"));
  say("ADDED", aClaim("c", "False"));
  expect(await follower.until(() => follower.objects.has("ns/c"), 5)).toBe(true);
  expect([...follower.objects.keys()].sort()).toEqual(["ns/b", "ns/c"]);
  expect(follower.readyAt.has("ns/a")).toBe(true);
});

test("until() gives up after its time", async () => {
  const { follower } = await follow([]);
  expect(await follower.until(() => false, 0.01)).toBe(false);
});

test("until() waits no longer than the run lasts: an interrupted one has a cluster to end", async () => {
  const { follower, ending } = await follow([]);
  const waited = follower.until(() => false, 3600);
  ending.abort();
  expect(await waited).toBe(false);
  expect(await follower.until(() => true, 3600)).toBe(false);
});

test("followReady() ends when the run does, seen or not", async () => {
  const ending = new AbortController();
  const never: Api = {
    send: () => new Promise((_, reject) => ending.signal.addEventListener("abort", () => reject(new Error("aborted")))),
    watch: () => Promise.reject(new Error("not asked for")),
  };
  const following = followReady(never, "sandboxclaims", ending.signal);
  ending.abort();
  expect((await following).objects.size).toBe(0);
});
