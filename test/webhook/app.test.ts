/** Syncs of one parent keep the distance that the hook asks for; the rest of the app waits for nothing. @module */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import * as z from "zod";
import { createHookApp } from "../../packages/webhook/app.ts";
import type { HookCalls } from "../../packages/webhook/hook.ts";

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

/** An app whose hook notes when it was asked, and for whom. */
function anApp(intervalMs?: number) {
  const asked: string[] = [];
  const note = (body: unknown) => {
    const { parent } = body as { parent: { metadata: { uid: string } } };
    asked.push(`${parent.metadata.uid} ${Date.now()}`);
    return {};
  };
  const hook: HookCalls = {
    name: "x",
    ...(intervalMs === undefined
      ? {}
      : { spacing: ({ parent }) => ({ key: parent?.metadata?.uid?.toUpperCase() ?? "", intervalMs }) }),
    sync: (body) => ({ answer: note(body), losses: [], held: [] }),
    customize: note,
  };
  const app = createHookApp(hook, { log: () => {} });
  const post = async (path: string, uid: string) => {
    const body = JSON.stringify({ parent: { metadata: { uid } } });
    return (await app.request(path, { method: "POST", body })).status;
  };
  return { asked, post, app };
}

test("the second sync of a parent is answered when the interval is over, with what the clock says by then", async () => {
  const { asked, post } = anApp(1000);
  const answers = [post("/sync", "a"), post("/sync", "a"), post("/sync", "b")];
  await vi.advanceTimersByTimeAsync(999);
  expect(asked).toEqual(["a 0", "b 0"]);
  await vi.advanceTimersByTimeAsync(1);
  expect(asked).toEqual(["a 0", "b 0", "a 1000"]);
  expect(await Promise.all(answers)).toEqual([200, 200, 200]);
});

test("three syncs at most are held back: they occupy workers that others need", async () => {
  const { asked, post } = anApp(1000);
  const uids = ["a", "b", "c", "d"];
  const answers = [...uids, ...uids].map((uid) => post("/sync", uid));
  await vi.advanceTimersByTimeAsync(0);
  expect(asked).toEqual(["a 0", "b 0", "c 0", "d 0", "d 0"]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(await Promise.all(answers)).toHaveLength(8);
});

test("a sync whose answer waits is answered by what the clock says then, and holds up no other", async () => {
  const asked: string[] = [];
  const hook: HookCalls = {
    name: "x",
    delayMs: ({ parent }) => parent!.metadata!.uid === "a" ? 5 : 0,
    sync(body) {
      const { parent } = body as { parent: { metadata: { uid: string } } | null };
      asked.push(`${parent?.metadata.uid} ${Date.now()}`);
      return { answer: {}, losses: [], held: [] };
    },
  };
  const app = createHookApp(hook, { log: () => {} });
  const post = async (body: string) => (await app.request("/sync", { method: "POST", body })).status;
  const answers = [...["a", "b"].map((uid) => JSON.stringify({ parent: { metadata: { uid } } })), "null"].map(post);
  await vi.advanceTimersByTimeAsync(4);
  expect(asked).toEqual(["b 0"]);
  await vi.advanceTimersByTimeAsync(1);
  expect(asked).toEqual(["b 0", "a 5"]);
  expect((await Promise.all(answers)).slice(0, 2)).toEqual([200, 200]);
});

test("customize is never held back, nor is a hook that asks for no distance", async () => {
  const paced = anApp(1000);
  const free = anApp();
  const answers = [
    ...[paced.post("/sync", "a"), paced.post("/customize", "a"), paced.post("/customize", "a")],
    ...[free.post("/sync", "a"), free.post("/sync", "a")],
  ];
  await vi.advanceTimersByTimeAsync(0);
  expect(paced.asked).toEqual(["a 0", "a 0", "a 0"]);
  expect(free.asked).toEqual(["a 0", "a 0"]);
  expect(await Promise.all(answers)).toEqual([200, 200, 200, 200, 200]);
});

test("a body that is no JSON is refused at once, in whatever company", async () => {
  const { app, post, asked } = anApp(1000);
  await post("/sync", "a");
  const refused = await app.request("/sync", { method: "POST", body: "{" });
  expect([refused.status, asked]).toEqual([400, ["a 0"]]);
});

test("a request that makes no sense to the hook's spacing is refused for what is wrong with it", async () => {
  const hook: HookCalls = {
    name: "strict",
    spacing: ({ parent }) => ({ key: parent!.metadata!.uid!.toUpperCase(), intervalMs: 1000 }),
    sync: (body) => ({
      answer: z.object({ parent: z.object({ metadata: z.object({ uid: z.string() }) }) }).parse(body),
      losses: [],
      held: [],
    }),
  };
  const strict = createHookApp(hook, { log: () => {} });
  const post = async (body: string) => (await strict.request("/sync", { method: "POST", body })).status;
  expect(await Promise.all(["null", "[]", "{}", '{"parent":null}', '{"parent":{"metadata":{"uid":7}}}'].map(post)))
    .toEqual([400, 400, 400, 400, 400]);
});

test("a hook is asked for its pace by parent and children, for decorators as well", async () => {
  const asked: unknown[] = [];
  const hook: HookCalls = {
    name: "x",
    delayMs: (request) => asked.push(request) && 0,
    sync: () => ({ answer: {}, losses: [], held: [] }),
  };
  const app = createHookApp(hook, { log: () => {} });
  const [parent, children] = [{ metadata: { uid: "a" } }, { "Sandbox.agents.x-k8s.io/v1beta1": {} }];
  for (const body of [{ parent, children }, { object: parent, attachments: children }]) {
    await app.request("/sync", { method: "POST", body: JSON.stringify(body) });
  }
  expect(asked).toEqual([{ parent, children }, { parent, children }]);
});

test("the log names the parent, and shows nothing else that stands where a name should", async () => {
  const lines: unknown[] = [];
  const hook: HookCalls = {
    name: "x",
    sync: (body) => ({ answer: z.object({ parent: z.string() }).parse(body), losses: [], held: [] }),
  };
  const app = createHookApp(hook, { log: (_, __, fields) => lines.push(fields) });
  const metadata = { namespace: "team-a", name: { env: [{ value: "secret" }] }, uid: ["secret"], generation: 1 };
  await app.request("/sync", { method: "POST", body: JSON.stringify({ parent: { metadata } }) });
  expect(lines).toEqual([expect.objectContaining({ namespace: "team-a", generation: 1 })]);
  expect(JSON.stringify(lines)).not.toContain("secret");
});
