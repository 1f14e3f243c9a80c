/** Watches of the dashboard: they stop while the page is hidden, and go on where they were. @module */
import { expect, test } from "vitest";
import { connect, isRefused } from "../../packages/dashboard/session.ts";
import { until, untilThere } from "../eventually.ts";

const PATH = "/apis/agents.x-k8s.io/v1beta1/sandboxes";

/** A page, and an API server whose watches a test feeds. */
function stage(options: { hiddenMs?: number; resumeMs?: number } = {}) {
  let isHidden = false;
  const listeners = new Set<() => void>();
  const asked: { version: string | null; signal: AbortSignal; send(version: string): void }[] = [];
  const fetch = (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const signal = init.signal!;
    signal.throwIfAborted();
    let controller: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({ start: (given) => void (controller = given) });
    signal.addEventListener("abort", () => controller.error(signal.reason));
    asked.push({
      version: new URL(url, "http://x").searchParams.get("resourceVersion"),
      signal,
      send(resourceVersion) {
        const event = { type: "MODIFIED", object: { metadata: { resourceVersion } } };
        controller.enqueue(new TextEncoder().encode(`${JSON.stringify(event)}\n`));
      },
    });
    return Promise.resolve(new Response(body));
  };
  const visibility = {
    isHidden: () => isHidden,
    subscribe(listener: () => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const show = (isShown: boolean) => {
    isHidden = !isShown;
    for (const listener of listeners) listener();
  };
  const api = connect("/api", "token", () => {}, { fetch, visibility, hiddenMs: 1, ...options });
  return { api, asked, show, listeners };
}

async function follow(api: ReturnType<typeof stage>["api"], signal?: AbortSignal) {
  const seen: unknown[] = [];
  const { events } = await api.watch(PATH, { resourceVersion: "5" }, signal);
  const over = (async () => {
    for await (const { object } of events) seen.push((object as { metadata: object }).metadata);
  })();
  over.catch(() => {});
  return { seen, over };
}

test("a hidden page stops its watch, and goes on from the last version that it has seen", async () => {
  const { api, asked, show } = stage();
  const { seen } = await follow(api);
  asked[0]?.send("7");
  await untilThere(1, () => seen);
  show(false);
  await until(() => asked[0]?.signal.aborted === true);
  expect(asked).toHaveLength(1);
  show(true);
  await untilThere(2, () => asked);
  expect(asked.map(({ version }) => version)).toEqual(["5", "7"]);
  asked[1]?.send("8");
  await untilThere(2, () => seen);
});

test("a page that is hidden for a moment keeps its watch", async () => {
  const { api, asked, show } = stage({ hiddenMs: 60_000 });
  const { seen } = await follow(api);
  show(false);
  show(true);
  asked[0]?.send("7");
  await untilThere(1, () => seen);
  expect(asked[0]?.signal.aborted).toBe(false);
});

test("after a long time, the watch fails, so that its objects are listed again", async () => {
  const { api, asked, show } = stage({ resumeMs: -1 });
  const { over } = await follow(api);
  show(false);
  await until(() => asked[0]?.signal.aborted === true);
  show(true);
  await expect(over).rejects.toThrow("The page was hidden for a while.");
});

test("a watch that begins on a hidden page waits until it is shown", async () => {
  const { api, asked, show } = stage();
  show(false);
  const following = follow(api);
  await until(() => asked[0]?.signal.aborted === true);
  show(true);
  await untilThere(2, () => asked);
  asked[1]?.send("6");
  const { seen } = await following;
  await untilThere(1, () => seen);
});

test("an ended watch follows the page no more", async () => {
  const { api, asked, show, listeners } = stage();
  const ending = new AbortController();
  const { over } = await follow(api, ending.signal);
  show(false);
  await until(() => asked[0]?.signal.aborted === true);
  ending.abort(new Error("enough"));
  await expect(over).rejects.toThrow("enough");
  expect(listeners.size).toBe(0);
});

const HTML = { "Content-Type": "text/html; charset=utf-8" };

test.for([
  { name: "401", answer: { status: 401 }, token: "mine", want: true },
  {
    name: "403 of the API server",
    answer: { status: 403, headers: { "Content-Type": "application/json" } },
    want: false,
  },
  { name: "an empty answer", answer: { status: 204 }, want: false },
  { name: "401 of a proxy in front", answer: { status: 401 }, want: true },
  { name: "the sign-in page of a proxy", answer: { status: 403, headers: HTML }, want: true },
  { name: "the sign-in page of a proxy with 200", answer: { status: 200, headers: HTML }, want: true },
  { name: "a redirect to a provider", answer: { status: 302 }, want: true },
  {
    name: "an error page, for a user with a token",
    answer: { status: 502, headers: HTML },
    token: "mine",
    want: false,
  },
])("$name: nobody is signed in: $want", ({ answer, token = "", want }) => {
  expect(isRefused(new Response(null, answer), token)).toBe(want);
});
