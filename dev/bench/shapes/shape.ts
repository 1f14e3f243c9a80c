/** What a shape is: which objects are asked for, how, and what stands around them. No behaviour. @module */
import type { Arrivals } from "../../../packages/cli/pool/arrivals.ts";

/** One shape of load. */
export interface Shape {
  name: string;
  /** One line for `--help` and for the reader of the report. */
  about: string;
  /**
   * `claims` on warm pools, claims and `commands` in what they get, the same by the `sdk`, bare `sandboxes`, or the
   * `members` of pools as they fill for the first time.
   */
  asks: "claims" | "commands" | "sdk" | "sandboxes" | "members";
  /** How many; of members: `pools` × `replicas`. */
  count: number;
  arrivals: Arrivals;
  /** Namespaces that the objects are spread over; each has a template of its own. */
  namespaces: number;
  /** Pools that the objects are spread over; they are spread over the namespaces. */
  pools: number;
  /** Size of each pool. */
  replicas: number;
  /** Bare Sandboxes that stand idle beside. */
  standing: number;
  /** Whether those stand in a namespace of their own; absent: spread over the namespaces of the objects. */
  standsApart?: boolean;
  /** Mean time for which a claim is kept before it is deleted, seconds, exponential; absent: to the end. */
  dwellSeconds?: number;
  /** Parts of `count` that are asked for one after the other: each is deleted, and pools fill again, before the next. @default {1} */
  windows?: number;
  /** Objects that are asked for, and deleted again, before anything is measured; absent: none. */
  warmUp?: number;
  /** Most requests of hookbox for each object, where the API server tells who asked; more is a violation. */
  budget?: { writes: number; reads: number };
  /** Whether the report has memory over time. */
  followsMemory?: boolean;
}

/** A shape in several sizes: what is varied, and its values. */
export interface Sweep {
  parameter: "count" | "namespaces" | "pools" | "replicas" | "standing" | "perSecond";
  values: number[];
}

/** The figures of a shape, as they stand in the report. */
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

/** Returns the shape with one figure changed. */
export function varied(shape: Shape, parameter: Sweep["parameter"], value: number): Shape {
  if (parameter !== "perSecond") return { ...shape, [parameter]: value };
  const { arrivals } = shape;
  if (arrivals.kind === "burst") return { ...shape, arrivals: { kind: "rate", perSecond: value } };
  return { ...shape, arrivals: { ...arrivals, perSecond: value } };
}

/** Returns how many pools there are: a shape with more namespaces than pools has a pool in each. */
export function poolCount({ pools, namespaces, asks }: Shape): number {
  return asks === "sandboxes" ? 0 : Math.max(pools, namespaces);
}

/** Returns how many Sandboxes there are before the load and after it. */
export function restingSandboxes(shape: Shape): number {
  return poolCount(shape) * shape.replicas + shape.standing;
}

/** Returns how many Pods there may be at once. */
export function podsOf(shape: Shape): number {
  return shape.count + restingSandboxes(shape);
}
