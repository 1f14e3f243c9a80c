import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Answer, WatchSilent } from "../../packages/kube/api.ts";
import { listAndWatch } from "../../packages/kube/watch.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { createFakeApi, type FakeApi, refusal } from "./fakeapi.ts";

const PATH = "/apis/example.com/v1/things";
const at = (name: string) => `/apis/example.com/v1/namespaces/n/things/${name}`;
const aThing = (name: string, more: object = {}) => ({ kind: "Thing", metadata: { name, uid: name }, ...more });

let end: AbortController;
let seen: string[];
let lines: string[];

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  end = new AbortController();
  seen = [];
  lines = [];
});
afterEach(() => {
  end.abort();
  vi.useRealTimers();
});

async function start(
  server: FakeApi,
  more: { listing?(): void } = {},
  onHeard?: () => void,
): Promise<{ running: Promise<void> }> {
  const handler = {
    observe: ({ metadata }: KubeObject) => seen.push(metadata.name),
    gone: (uid: string) => seen.push(`-${uid}`),
    listed: (uids: ReadonlySet<string>) => seen.push(`[${[...uids].toSorted()}]`),
    ...more,
  };
  const parse = (object: unknown) => (object as { broken?: true }).broken ? undefined : object as KubeObject;
  const log = (level: string, message: string, fields?: Record<string, unknown>) =>
    lines.push(`${level}: ${message}: ${fields?.["error"]}`);
  const running = listAndWatch(server, { path: PATH, parse }, handler, { log, signal: end.signal, onHeard });
  await vi.advanceTimersByTimeAsync(1);
  return { running };
}

const shown = () => seen.splice(0).join(" ");

describe("listAndWatch()", () => {
  test("shows what is there, page by page, then what happens", async () => {
    const server = createFakeApi({ pageSize: 2 });
    for (const name of ["a", "b", "c", "d", "e"]) server.put(at(name), aThing(name));
    await start(server);
    expect(shown()).toBe("a b c d e [a,b,c,d,e]");
    expect(server.requests).toHaveLength(3);
    server.put(at("f"), aThing("f"));
    server.put(at("a"), aThing("a", { spec: 2 }));
    server.remove(at("b"));
    await vi.advanceTimersByTimeAsync(1);
    expect(shown()).toBe("f a -b");
  });

  test("tells that a list begins before it asks for it, as often as it does", async () => {
    const server = createFakeApi();
    server.put(at("a"), aThing("a"));
    let isDown = true;
    server.intercept = () => {
      seen.push("asked");
      return isDown ? refusal(500, "down") : undefined;
    };
    await start(server, { listing: () => seen.push("listing") });
    isDown = false;
    await vi.advanceTimersByTimeAsync(1000);
    expect(shown()).toBe("listing asked listing asked a [a]");
    server.put(at("a"), aThing("a", { spec: 2 }));
    server.endWatches();
    await vi.advanceTimersByTimeAsync(1000);
    expect(shown(), "a watch that goes on lists nothing").toBe("a");
  });

  test("tells of what a list lacks, and leaves alone what it cannot read, but knows that it is there", async () => {
    const server = createFakeApi({ pageSize: 1 });
    for (const name of ["a", "b", "c"]) server.put(at(name), aThing(name, name === "c" ? { broken: true } : {}));
    await start(server);
    server.put(at("d"), aThing("d"));
    server.put(at("e"), aThing("e"));
    server.remove(at("e"));
    await vi.advanceTimersByTimeAsync(1);
    expect(shown()).toBe("a b [a,b,c] d e -e");
    expect(lines).toEqual(["warn: Cannot read an object: undefined"]);
    server.intercept = () => refusal(500, "down");
    server.endWatches(new Error("connection reset"));
    await vi.advanceTimersByTimeAsync(1);
    for (const name of ["a", "d"]) server.remove(at(name));
    server.intercept = () => undefined;
    await vi.advanceTimersByTimeAsync(5000);
    expect(shown()).toBe("b -a -d [b,c]");
  });

  test("goes on where it was when the server ends a watch", async () => {
    const server = createFakeApi();
    server.put(at("a"), aThing("a"));
    await start(server);
    shown();
    await vi.advanceTimersByTimeAsync(5000);
    server.endWatches();
    server.put(at("b"), aThing("b"));
    await vi.advanceTimersByTimeAsync(1);
    expect(shown()).toBe("b");
    expect(server.requests, "no second list").toHaveLength(1);
    expect(server.watches).toBe(2);
    expect(lines).toEqual([]);
  });

  test.for(
    [
      [new Error("connection reset"), "warn: Watch interrupted: connection reset"],
      [new WatchSilent(90_000), "info: Watch interrupted: Cannot watch: silence for 90 s"],
    ] as const,
  )("lists again where a watch breaks (%s): etcd may have been restored", async ([error, line]) => {
    const server = createFakeApi();
    server.put(at("a"), aThing("a"));
    await start(server);
    shown();
    await vi.advanceTimersByTimeAsync(5000);
    server.endWatches(error);
    server.put(at("b"), aThing("b"));
    await vi.advanceTimersByTimeAsync(1);
    expect(shown()).toBe("a b [a,b]");
    expect(lines).toEqual([line]);
  });

  test("lists again where a watch cannot be opened, though the version is one that the server has", async () => {
    const server = createFakeApi();
    server.put(at("a"), aThing("a"));
    await start(server);
    shown();
    const open = server.watch;
    server.watch = () => Promise.reject(new Error("connection refused"));
    server.endWatches();
    await vi.advanceTimersByTimeAsync(1100);
    server.watch = open;
    await vi.advanceTimersByTimeAsync(5000);
    expect(shown()).toBe("a [a]");
  });

  test("tells that it has heard of the server: of a list, an open watch, and an event", async () => {
    const server = createFakeApi();
    let heard = 0;
    await start(server, {}, () => heard++);
    expect(heard).toBe(2);
    server.put(at("a"), aThing("a"));
    await vi.advanceTimersByTimeAsync(1);
    expect(heard).toBe(3);
    server.intercept = () => refusal(500, "down");
    server.endWatches(new Error("connection reset"));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(heard).toBe(3);
  });

  test.for(["when it opens", "in the stream"])("lists again where its version is too old (410 %s)", async (where) => {
    const server = createFakeApi();
    server.put(at("a"), aThing("a"));
    server.put(at("b"), aThing("b"));
    await start(server);
    shown();
    const inStream: Answer & { events: AsyncIterable<never> } = { status: 200, body: null, events: tooOld() as never };
    const open = server.watch;
    if (where === "in the stream") server.watch = () => Promise.resolve(inStream);
    server.remove(at("b"));
    await vi.advanceTimersByTimeAsync(1);
    shown();
    server.compact();
    server.endWatches();
    await vi.advanceTimersByTimeAsync(1100);
    server.watch = open;
    await vi.advanceTimersByTimeAsync(5000);
    expect(shown()).toBe("a [a]");
    server.put(at("c"), aThing("c"));
    await vi.advanceTimersByTimeAsync(1);
    expect(shown()).toBe("c");
  });

  test("lists again where its version is newer than the server's (restored from a backup)", async () => {
    const server = createFakeApi();
    await start(server);
    shown();
    const open = server.watch;
    server.watch = () => Promise.resolve({ ...refusal(504, "Too large resource version"), events: none() });
    server.endWatches();
    await vi.advanceTimersByTimeAsync(1100);
    server.watch = open;
    server.put(at("a"), aThing("a"));
    await vi.advanceTimersByTimeAsync(5000);
    expect(shown()).toBe("a [a]");
  });

  test("tries again after 1, 2, 4 … s where the server refuses", async () => {
    const server = createFakeApi();
    server.put(at("a"), aThing("a"));
    server.intercept = () => server.requests.length < 5 ? refusal(403, "forbidden") : undefined;
    await start(server);
    await vi.advanceTimersByTimeAsync(14_990);
    expect(server.requests).toHaveLength(4);
    await vi.advanceTimersByTimeAsync(20);
    expect(shown()).toBe("a [a]");
    expect(lines).toHaveLength(4);
    expect(lines[0]).toContain(`Cannot list ${PATH}: forbidden (status 403)`);
  });

  test("does not go round hot where watches end at once", async () => {
    const server = createFakeApi();
    server.watch = () => {
      server.watches++;
      return Promise.resolve({ status: 200, body: null, events: none() });
    };
    await start(server);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(server.watches).toBeLessThan(8);
  });

  test("moves on with bookmarks", async () => {
    const server = createFakeApi();
    const versions: (string | undefined)[] = [];
    server.watch = (_, query) => {
      versions.push(query["resourceVersion"]);
      return Promise.resolve({ status: 200, body: null, events: bookmark() });
    };
    await start(server);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(versions.slice(0, 2)).toEqual(["100", "4711"]);
    expect(shown()).toBe("[]");
  });

  test("ends with the signal", async () => {
    const server = createFakeApi();
    const { running } = await start(server);
    end.abort();
    server.endWatches();
    await expect(running).resolves.toBeUndefined();
  });
});

async function* none(): AsyncGenerator<never> {}

async function* tooOld() {
  yield { type: "ERROR", object: { kind: "Status", code: 410, message: "too old resource version" } };
}

async function* bookmark() {
  yield { type: "BOOKMARK", object: { metadata: { resourceVersion: "4711" } } };
}
