/**
 * Defines a shape of load: which objects are created, how, and what exists around them. Defines what the run of a shape
 * gets and returns. @module
 */
import type { Arrivals } from "../../../packages/cli/pool/simulate.ts";
import type { Api } from "../../../packages/kube/api.ts";
import type { SandboxClient } from "../../../packages/sdk/client.ts";
import type { Result } from "../result.ts";
import type { Command } from "../stage/stage.ts";

/** One shape of load. */
export interface Shape {
  name: string;
  /** One line for `--help` and for readers of the report. */
  about: string;
  /**
   * What is measured: `claims` on warm pools, claims with `commands` in their Sandboxes, the same with the `sdk`, whole
   * `episodes`, the SDK in turns with that of `e2b`, `sandboxes` without claim or pool, or the `members` of pools that fill
   * for the first time.
   */
  workload: "claims" | "commands" | "sdk" | "episodes" | "e2b" | "sandboxes" | "members";
  /** What runs episodes: our SDK or the published Python client. */
  client?: "sdk" | "python";
  /** Of `e2b`: nothing runs in the sandboxes, so that simulated nodes do. */
  isCreationOnly?: boolean;
  /** Number of objects. For members, it is `pools` × `replicas`. */
  count: number;
  arrivals: Arrivals;
  /** Number of namespaces over which the objects are distributed. Each has its own template. */
  namespaces: number;
  /** Number of pools over which the objects are distributed. The pools are distributed over the namespaces. */
  pools: number;
  /** Size of each pool. */
  replicas: number;
  /** Number of idle Sandboxes that exist during the run. */
  standing: number;
  /**
   * Whether the idle Sandboxes are in their own namespace; absent: they are distributed over the namespaces of the
   * objects.
   */
  standsApart?: boolean;
  /** Mean time in seconds until a claim is deleted (exponential distribution); absent: claims stay until the end. */
  dwellSeconds?: number;
  /**
   * Number of parts of `count` that run one after the other. After each, its claims are deleted and the pools fill
   * again. @default {1}
   */
  windows?: number;
  /** Number of objects that are created and deleted before the measured part; absent: none. */
  warmUp?: number;
  /** The most requests by hookbox for each object, if the senders of requests are known. More is a violation. */
  budget?: { writes: number; reads: number };
  /** Whether the report contains memory over time. */
  followsMemory?: boolean;
}

/** If one step takes longer than this many seconds, the run counts as broken. */
export const PATIENCE = 300;
/** If a run serves fewer objects per second than this, it counts as broken. */
const SLOWEST = 8;

/** A shape in several sizes: which parameter varies, and its values. */
export interface Sweep {
  parameter: "count" | "clients" | "namespaces" | "pools" | "replicas" | "standing" | "perSecond";
  values: number[];
}

/** How clients of episodes reach the cluster and its sandboxes. */
export interface EpisodeAccess {
  /** Uses the router. */
  sdk: SandboxClient;
  kubeconfig: string;
  routerUrl: string;
  /** Path of a Python with the published client; undefined: none. */
  python: string | undefined;
  /** The API for E2B's SDKs, and the router for them; undefined: none. */
  e2b?: { apiUrl: string; sandboxUrl: string };
}

export interface RunContext {
  api: Api;
  /** Ends every watch of the run. */
  signal: AbortSignal;
  /**
   * Runs the measured part, once: time, requests, CPU time and calls. `begun` is its start in `performance.now()`
   * milliseconds.
   */
  measure<T>(run: (begun: number) => Promise<T>): Promise<T>;
  /** Runs a command in a Pod; undefined: the nodes run no containers. */
  command?: Command;
  /** The SDK on the same cluster; undefined: the nodes do not run the runtime. */
  sdk?: SandboxClient;
  /** How clients of episodes reach the cluster; undefined: there is no router. */
  access?: EpisodeAccess;
  progress(line: string): void;
}

/** The result of a shape, without its cost. */
export type ShapeResult = Pick<Result, "asked" | "samples" | "figures" | "violations">;

/** Returns the parameters of a shape for the report. */
export function parametersOf(shape: Shape) {
  const { count, arrivals, namespaces, pools, replicas, standing, dwellSeconds, windows } = shape;
  const { kind } = arrivals;
  return {
    count,
    ...(kind === "burst" ? { clients: arrivals.clients } : { perSecond: arrivals.perSecond }),
    namespaces,
    pools,
    replicas,
    standing,
    ...(dwellSeconds === undefined ? {} : { dwellSeconds }),
    ...(windows === undefined ? {} : { windows }),
  };
}

/** Returns the shape with one parameter changed. */
export function varied(shape: Shape, parameter: Sweep["parameter"], value: number): Shape {
  const { arrivals } = shape;
  if (parameter === "clients") return { ...shape, arrivals: { kind: "burst", clients: value } };
  if (parameter !== "perSecond") return { ...shape, [parameter]: value };
  if (arrivals.kind === "burst") return { ...shape, arrivals: { kind: "rate", perSecond: value } };
  return { ...shape, arrivals: { ...arrivals, perSecond: value } };
}

/** Returns whether the sandboxes of a shape run hookbox's runtime. */
export function usesRuntime({ workload, isCreationOnly = false }: Shape): boolean {
  return workload === "sdk" || workload === "episodes" || (workload === "e2b" && !isCreationOnly);
}

/** Returns the number of pools. If a shape has more namespaces than pools, it has one pool in each namespace. */
export function poolCount({ pools, namespaces, workload }: Shape): number {
  return workload === "sandboxes" ? 0 : Math.max(pools, namespaces);
}

/** Returns how many Sandboxes exist before and after the load. */
export function restingSandboxes(shape: Shape): number {
  return poolCount(shape) * shape.replicas + shape.standing;
}

/** Returns how many Pods may exist at once. */
export function podsOf(shape: Shape): number {
  return shape.count + restingSandboxes(shape);
}

/** Returns how many seconds to wait for all objects of a shape. */
export function patienceFor({ count }: Pick<Shape, "count">): number {
  return Math.max(PATIENCE, count / SLOWEST);
}
