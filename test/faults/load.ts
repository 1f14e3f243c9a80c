/** Claims that come five a second and go again, by a client that asks until it is answered. @module */
import { setTimeout as sleep } from "node:timers/promises";
import { answerError, type Api, type ApiRequest, isOk, pathOf } from "../../packages/kube/api.ts";
import { connect } from "../../packages/kube/connection.ts";
import { kubeconfigCredentials } from "../../packages/kube/credentials.ts";
import type { History } from "../integration/history.ts";
import { condition, type Namespace } from "../integration/namespace.ts";
import { aClaim } from "../integration/pools.ts";

/** One claim; times in milliseconds of `performance.now()`. */
export interface Life {
  name: string;
  /** When it was first asked for. */
  asked: number;
  /** When it was first seen to be Ready; absent: not yet. */
  ready?: number;
  /** It is not deleted. */
  isKept: boolean;
}

export interface Load {
  lives: Life[];
  isArriving(): boolean;
  /** Resolves when all have been created. @throws {Error} if one could not be, in five minutes */
  arrived: Promise<void>;
  /** Resolves when all are Ready, and deleted but for those that are kept, or in so many seconds. */
  settled(seconds: number): Promise<void>;
}

const EVERY_MS = 200;
const LOOK_MS = 50;
/** How long a claim is used. */
const USE_MS = 2000;
const KEEP_EVERY = 10;
const PATIENCE_MS = 300_000;

/** Begins to create `count` claims on a pool; every tenth is kept, the others go soon after they are Ready. */
export async function startLoad(ns: Namespace, history: History, pool: string, count: number): Promise<Load> {
  const stop = new AbortController();
  const credentials = await kubeconfigCredentials(ns.cluster.kubeconfig);
  const api = connect(credentials, { signal: stop.signal, userAgent: "hookbox-test", timeoutMs: 5000 });
  const collection = { resource: "sandboxclaims", namespace: ns.name } as const;
  const lives: Life[] = [];
  const ends: Promise<void>[] = [];
  let isArriving = true;
  let isOver = false;

  const live = async (life: Life) => {
    await insist(api, { method: "POST", path: pathOf(collection), body: tomorrow(life.name, pool) }, 409);
    ends.push(end(life));
  };
  const end = async (life: Life) => {
    while (life.ready === undefined) {
      if (isOver) return;
      if (isReady(history, life.name)) life.ready = performance.now();
      else await sleep(LOOK_MS);
    }
    if (life.isKept) return;
    await sleep(USE_MS);
    await insist(api, { method: "DELETE", path: pathOf({ ...collection, name: life.name }) }, 404);
  };
  const arrive = async () => {
    const begun: Promise<void>[] = [];
    for (let index = 0; index < count; index++) {
      const life = { name: `c-${index}`, asked: performance.now(), isKept: index % KEEP_EVERY === 0 };
      lives.push(life);
      begun.push(live(life));
      await sleep(EVERY_MS);
    }
    isArriving = false;
    await Promise.all(begun);
  };
  return {
    lives,
    isArriving: () => isArriving,
    arrived: arrive(),
    async settled(seconds) {
      const late = setTimeout(() => isOver = true, seconds * 1000);
      await Promise.all(ends);
      clearTimeout(late);
    },
  };
}

/** A claim whose end is so far off that no clock that jumps by hours may bring it about. */
function tomorrow(name: string, pool: string) {
  const shutdownTime = new Date(Date.now() + 86_400_000).toISOString().replace(/\.\d+/, "");
  return aClaim(name, pool, { lifecycle: { shutdownTime, shutdownPolicy: "Delete" } });
}

function isReady({ versions }: History, name: string): boolean {
  return condition(versions.get(name)?.at(-1), "Ready")?.status === "True";
}

/** Sends a request until it is answered well, or with the status that says it has been done before. */
async function insist(api: Api, request: ApiRequest, done: number): Promise<void> {
  const late = performance.now() + PATIENCE_MS;
  for (;;) {
    const answer = await api.send(request).catch(() => undefined);
    if (answer && (isOk(answer) || answer.status === done)) return;
    if (performance.now() > late) {
      throw answer ? answerError(`${request.method} ${request.path}`, answer) : new Error("Cannot go on: no answers");
    }
    await sleep(250);
  }
}
