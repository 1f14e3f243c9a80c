/** The API as binder and keeper meet it in this weather. @module */
import { findByName, type MemoryStore } from "../../packages/testing/store/memory.ts";
import type { Answer, Api, ApiRequest, WatchEvent } from "../../packages/kube/api.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import type { MemoryApi } from "../../packages/testing/api/memoryapi.ts";
import { parsePath } from "../../packages/testing/api/protocol.ts";
import { createStream } from "../../packages/testing/api/watch.ts";
import { createView } from "./views.ts";
import type { Surroundings } from "./surroundings.ts";
import { pause, touch, type Watcher } from "./weather.ts";

/** Kinds that are written or watched, by plural. */
const KINDS: Record<string, string> = {
  persistentvolumeclaims: "PersistentVolumeClaim",
  pods: "Pod",
  sandboxes: "Sandbox",
  sandboxclaims: "SandboxClaim",
  sandboxtemplates: "SandboxTemplate",
  sandboxwarmpools: "SandboxWarmPool",
};
const VERBS: Partial<Record<ApiRequest["method"], string>> = {
  POST: "create",
  PUT: "update",
  PATCH: "update",
  DELETE: "delete",
};

/** Wraps an API; its watches are one process's own. */
export function weatheredApi(inner: MemoryApi, of: Watcher, store: MemoryStore, surroundings: Surroundings): MemoryApi {
  const { weather, notice, isDead } = surroundings;
  const { clock } = store;
  async function send(request: ApiRequest): Promise<Answer> {
    const { delayMs, outcome } = weather.request(of);
    await pause(clock, delayMs);
    if (isDead()) throw new Error("weather: killed");
    if (request.method === "GET") return await inner.send(request);
    const at = parsePath(request.path);
    const kind = KINDS[at?.plural ?? ""] ?? "";
    const find = () => kind === "" ? undefined : findByName(store, kind, at?.name || nameIn(request.body));
    if (outcome === "refused") return { status: 500, body: { message: "weather: refused" } };
    if (outcome === "touched") await touch(store, find());
    const before = find();
    const answer = await inner.send(request);
    notice(before, find(), `${VERBS[request.method]}${at?.subresource ? "Status" : ""}`, of);
    if (outcome === "lost") throw new Error("weather: lost");
    return answer;
  }
  const watch: Api["watch"] = async (path, query, signal) => {
    const opened = await inner.watch(path, query, signal);
    if (opened.status !== 200) return opened;
    const kind = KINDS[parsePath(path)?.plural ?? ""] ?? "";
    const events = opened.events[Symbol.asyncIterator]();
    const shown = createStream<WatchEvent>(() => {
      view.end();
      void events.return?.();
    }, () => {});
    const view = createView({
      ...{ clock, weather, kind, of },
      relist: () =>
        view.deliver(() => {
          shown.push({ type: "ERROR", object: { code: 410, message: "weather: too old" } });
          shown.end();
        }),
    });
    const end = (error?: Error) => view.deliver(() => shown.end(error));
    void passOn(events, (event) => view.show(() => shown.push(event))).then(() => end(), end);
    signal?.addEventListener("abort", () => shown.end());
    return { ...opened, events: shown };
  };
  return { ...inner, send, watch };
}

async function passOn(events: AsyncIterator<WatchEvent>, pass: (event: WatchEvent) => void): Promise<void> {
  for (let next = await events.next(); !next.done; next = await events.next()) pass(next.value);
}

function nameIn(body: unknown): string {
  return (body as KubeObject).metadata.name;
}
