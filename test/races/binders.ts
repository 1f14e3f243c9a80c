/** The binder in this weather, and how it is killed and started anew. @module */
import type { MemoryStore } from "../../dev/metacontroller/store-memory.ts";
import type { Answer, Api, ApiRequest, WatchEvent } from "../../kube/api.ts";
import type { KubeObject } from "../../lib/objects.ts";
import type { MemoryApi } from "../../testing/api/memoryapi.ts";
import { parsePath } from "../../testing/api/path.ts";
import { type RunningBinder, startBinder } from "../../testing/binder.ts";
import { findObject } from "../../testing/objects.ts";
import type { MemoryServer } from "../../testing/server.ts";
import { type Notice, pause, touch, type Weather } from "./weather.ts";

export interface Binders {
  /** Kills the one that runs, in the midst of whatever it does, and starts another; or starts it before the kill. */
  restart(overlap: boolean): void;
  stop(): Promise<void>;
}

interface Running extends RunningBinder {
  kill(): void;
}

/** How long two of them run side by side, in milliseconds. */
const OVERLAP_MS = 700;

/** Starts the first. */
export function startBinders(server: MemoryServer, weather: Weather, notice: Notice): Binders {
  const { clock } = server.store;
  const ending: Promise<void>[] = [];
  const start = (): Running => {
    const inner = server.connect();
    let isDead = false;
    const api = weatheredApi(inner, server.store, { weather, notice, isDead: () => isDead });
    const binder = startBinder(api, clock);
    return { ...binder, kill: () => void (isDead = true) };
  };
  const end = (binder: Running) => {
    binder.kill();
    ending.push(binder.stop());
  };
  let running = start();
  return {
    restart(overlap) {
      const before = running;
      if (!overlap) end(before);
      running = start();
      if (overlap) clock.setTimeout(() => end(before), OVERLAP_MS);
    },
    async stop() {
      ending.push(running.stop());
      await Promise.all(ending);
    },
  };
}

const KINDS: Record<string, string> = {
  sandboxes: "Sandbox",
  sandboxclaims: "SandboxClaim",
  sandboxwarmpools: "SandboxWarmPool",
  sandboxtemplates: "SandboxTemplate",
};

interface Surroundings {
  weather: Weather;
  notice: Notice;
  /** Whether the process was killed: what it has not sent is never sent. */
  isDead(): boolean;
}

function weatheredApi(inner: MemoryApi, store: MemoryStore, surroundings: Surroundings): MemoryApi {
  const { weather, notice, isDead } = surroundings;
  async function send(request: ApiRequest): Promise<Answer> {
    const { delayMs, outcome } = weather.request();
    await pause(store.clock, delayMs);
    if (isDead()) throw new Error("killed");
    if (request.method === "GET") return await inner.send(request);
    const at = parsePath(request.path);
    const kind = KINDS[at?.plural ?? ""] ?? "";
    const find = () => findObject(store, kind, at?.name || nameIn(request.body));
    if (outcome === "refused") return { status: 500, body: { message: "refused" } };
    if (outcome === "touched") await touch(store, find());
    const before = find();
    const answer = await inner.send(request);
    notice(before, find(), `${VERBS[request.method]}${at?.subresource ? "Status" : ""}`);
    if (outcome === "lost") throw new Error("lost");
    return answer;
  }
  async function* late(events: AsyncIterable<WatchEvent>): AsyncGenerator<WatchEvent> {
    let seen = 0;
    for await (const event of events) {
      const due = Math.max(seen, store.clock.now() + weather.lagOf(event.object as KubeObject));
      seen = due;
      await pause(store.clock, due - store.clock.now());
      yield event;
    }
  }
  const watch: Api["watch"] = async (path, query, signal) => {
    const opened = await inner.watch(path, query, signal);
    return { ...opened, events: late(opened.events) };
  };
  return { ...inner, send, watch };
}

const VERBS: Partial<Record<ApiRequest["method"], string>> = { POST: "create", PUT: "update", PATCH: "update" };

function nameIn(body: unknown): string {
  return (body as KubeObject).metadata.name;
}
