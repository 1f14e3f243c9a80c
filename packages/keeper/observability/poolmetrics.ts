/** Metrics of pools and how well they serve claims. The series of a pool exist as long as the pool. @module */
import { Counter, Gauge, type Registry } from "prom-client";
import type { SandboxWarmPool } from "../../api/sandboxwarmpool.ts";
import type { EventHandler } from "../../kube/watch.ts";
import { labelValue } from "../../process/observability.ts";
import type { ClaimView, LaunchType, SandboxView } from "../../summary/views.ts";

/** The figures of one pool in its metrics. */
export interface PoolFigures {
  namespace: string;
  pool: string;
  desired: number;
  replicas: number;
  ready: number;
  /** Claims that were served since this process became the leader, by launch type. */
  served: Partial<Record<LaunchType, number>>;
}

/** Keeps the figures of all pools. */
export interface PoolBook extends EventHandler<SandboxWarmPool> {
  /** Records that a claim got a Sandbox. */
  served(claim: ClaimView, sandbox: SandboxView): void;
  figures(): Iterable<PoolFigures>;
}

/** Creates an empty book. The figures of a pool are dropped with the pool. */
export function createPoolBook(): PoolBook {
  const pools = new Map<string, PoolFigures>();
  /** By namespace and name. A claim may be served before its pool is listed. After the list, only known pools count. */
  const served = new Map<string, PoolFigures["served"]>();
  let isListed = false;
  function gone(uid: string): void {
    const known = pools.get(uid);
    if (known) served.delete(keyOf(known));
    pools.delete(uid);
  }
  function servedBy(key: string): PoolFigures["served"] {
    const counts = served.get(key) ?? {};
    served.set(key, counts);
    return counts;
  }
  return {
    observe({ metadata: { namespace = "", name, uid = "" }, spec, status }) {
      const { replicas = 0, readyReplicas: ready = 0 } = status ?? {};
      const counts = servedBy(keyOf({ namespace, pool: name }));
      pools.set(uid, { namespace, pool: name, desired: spec.replicas, replicas, ready, served: counts });
    },
    gone,
    listed() {
      const known = new Set([...pools.values()].map(keyOf));
      for (const key of served.keys()) if (!known.has(key)) served.delete(key);
      isListed = true;
    },
    served({ regarding: { namespace }, pool }, { launchType }) {
      const key = keyOf({ namespace, pool });
      if (isListed && !served.has(key)) return;
      const counts = servedBy(key);
      counts[launchType] = (counts[launchType] ?? 0) + 1;
    },
    figures: () => pools.values(),
  };
}

function keyOf({ namespace, pool }: Pick<PoolFigures, "namespace" | "pool">): string {
  return `${namespace}/${pool}`;
}

/** Returns what the metrics of pools are computed from; undefined: this process does not lead. */
export type PoolSource = () => { pools(): Iterable<PoolFigures>; claims(): Iterable<ClaimView> } | undefined;

/** Creates the metrics, which call `source` at each scrape. */
export function poolMetrics(registers: Registry[], source: PoolSource): void {
  const labelNames = ["namespace", "pool"] as const;
  const gauge = (name: string, help: string, valueOf: (figures: PoolFigures) => number | undefined) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const figures of source()?.pools() ?? []) {
          const value = valueOf(figures);
          if (value !== undefined) this.set({ namespace: figures.namespace, pool: figures.pool }, value);
        }
      },
    });
  gauge("hookbox_pool_replicas", "Sandboxes of the pool that no claim has", ({ replicas }) => replicas);
  gauge("hookbox_pool_ready_replicas", "Those of them that are Ready", ({ ready }) => ready);
  gauge("hookbox_pool_desired_replicas", "spec.replicas of the pool", ({ desired }) => desired);
  gauge("hookbox_pool_deficit", "Ready Sandboxes that the pool lacks", ({ desired, ready }) => {
    return Math.max(0, desired - ready);
  });
  gauge("hookbox_pool_hit_ratio", "Share of the pool's claims that were served warm, since the start", hitRatio);
  waitingGauge(registers, source);
  servedCounter(registers, source);
}

/** Returns undefined as long as no claim has been served. */
function hitRatio({ served }: PoolFigures): number | undefined {
  const all = Object.values(served).reduce((sum, count) => sum + count, 0);
  return all === 0 ? undefined : (served.warm ?? 0) / all;
}

/** Includes pools that do not exist, because claims wait for them, too. */
function waitingGauge(registers: Registry[], source: PoolSource): void {
  new Gauge({
    name: "hookbox_claims_waiting",
    help: "Claims that are not bound to a Sandbox",
    labelNames: ["namespace", "pool"],
    registers,
    collect() {
      this.reset();
      for (const { namespace, pool } of source()?.pools() ?? []) this.set({ namespace, pool }, 0);
      for (const { isWaiting, regarding: { namespace }, pool } of source()?.claims() ?? []) {
        if (isWaiting) this.inc({ namespace, pool: labelValue(pool) });
      }
    },
  });
}

function servedCounter(registers: Registry[], source: PoolSource): void {
  new Counter({
    name: "hookbox_pool_claims_total",
    help: "Claims that were bound to a Sandbox since the start",
    labelNames: ["namespace", "pool", "launch_type"],
    registers,
    collect() {
      this.reset();
      for (const { namespace, pool, served } of source()?.pools() ?? []) {
        for (const [launch_type, count] of Object.entries(served)) this.inc({ namespace, pool, launch_type }, count);
      }
    },
  });
}
