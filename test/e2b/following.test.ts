/** What creations see of their claims: from the one watch of the process, and without requests of their own. @module */
import { setImmediate as nextTurn } from "node:timers/promises";
import { Sandbox } from "e2b";
import { expect, test } from "vitest";
import { createFollowing } from "../../packages/e2b/following.ts";
import type { Api, WatchEvent } from "../../packages/kube/api.ts";
import { startE2B } from "./api.ts";

const PATH = "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/team-a/sandboxclaims";

/** A claim of team-a as a watch shows it. */
function shown(uid: string, resourceVersion: string, name = "a") {
  const metadata = { namespace: "team-a", name, uid, resourceVersion };
  return { metadata, object: { metadata } };
}

/** Starts following, and collects what a watch of the claim `a` yields from version 10. */
function start() {
  const opened: string[] = [];
  const api = {
    watch(path: string) {
      opened.push(path);
      return Promise.resolve({ status: 200, body: null, events: (async function* () {})() });
    },
  } as unknown as Api;
  const following = createFollowing();
  const passed: string[] = [];
  const handler = following.handler({
    observe: ({ metadata }) => void passed.push(`${metadata.uid} ${metadata.resourceVersion}`),
    gone: (uid) => void passed.push(`${uid} gone`),
  });
  const seen: string[] = [];
  const ending = new AbortController();
  const watch = async (version = "10") => {
    const query = { fieldSelector: "metadata.name=a", resourceVersion: version };
    const { events } = await following.watchedBy(api).watch(PATH, query, ending.signal);
    const read = async (events: AsyncIterable<WatchEvent>) => {
      for await (const { type, object } of events) {
        const { uid, resourceVersion } = (object as ReturnType<typeof shown>).metadata;
        seen.push(`${type} ${uid} ${resourceVersion}`);
      }
    };
    return { ended: read(events) };
  };
  return { following, handler, passed, seen, opened, ending, watch };
}

test("a creation sees what is newer than its claim, and nothing of an earlier claim of the same name", async () => {
  const { following, handler, passed, seen, opened, ending, watch } = start();
  handler.listed?.(new Set());
  const followed = following.follow("team-a", "a");
  handler.observe(shown("old", "9"));
  handler.observe(shown("new", "10"));
  handler.observe(shown("other", "11", "b"));
  handler.observe(shown("new", "12"));
  const { ended } = await watch();
  handler.gone("old");
  handler.observe(shown("new", "100"));
  handler.gone("other");
  handler.gone("new");
  await nextTurn();
  ending.abort();
  await ended;
  expect(seen).toEqual(["MODIFIED new 12", "MODIFIED new 100", "DELETED new 100"]);
  expect(opened).toEqual([]);
  expect(passed).toHaveLength(8);
  expect(followed?.latest()).toBeUndefined();
});

test("a claim whose deletion is the next that is shown is gone", async () => {
  const { following, handler, seen, ending, watch } = start();
  handler.listed?.(new Set());
  following.follow("team-a", "a");
  handler.observe(shown("new", "10"));
  const { ended } = await watch();
  handler.gone("new");
  await nextTurn();
  ending.abort();
  await ended;
  expect(seen).toEqual(["DELETED new 10"]);
});

test("before the first list, for other claims, and for a second request, there is a watch of their own", async () => {
  const { following, handler, opened, watch } = start();
  expect(following.follow("team-a", "a")).toBeUndefined();
  await (await watch()).ended;
  handler.listed?.(new Set());
  const followed = following.follow("team-a", "a");
  expect(following.follow("team-a", "a")).toBeUndefined();
  followed?.end();
  await (await watch()).ended;
  expect(opened).toHaveLength(2);
  expect(following.follow("team-a", "a")).toBeDefined();
});

test("a creation opens no watch", async () => {
  const { options, requests } = await startE2B();
  requests.length = 0;
  const made = await Promise.all(Array.from({ length: 8 }, () => Sandbox.create("base", options)));
  // If it takes long, the SDK also finds out why.
  expect(requests.filter((line) => /^(POST|WATCH) /.test(line))).toEqual(Array(8).fill(`POST ${PATH}`));
  expect(new Set(made.map(({ sandboxId }) => sandboxId)).size).toBe(8);
});
