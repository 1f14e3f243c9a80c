/** Calling the SandboxWarmPool hook, and reading what it answers. @module */
import type { Sandbox } from "../packages/api/sandbox.ts";
import type { SandboxTemplate } from "../packages/api/sandboxtemplate.ts";
import type { SandboxWarmPool, SandboxWarmPoolStatus } from "../packages/api/sandboxwarmpool.ts";
import { syncSandboxWarmPool } from "../hooks/sandboxwarmpool/sync.ts";
import type { WarmPoolConfig } from "../hooks/flags.ts";
import type { Desired, Observed } from "../packages/webhook/metacontroller.ts";
import type { DesiredObject, KubeObject } from "../packages/api/objects/objects.ts";
import { aPool } from "./pools.ts";
import { mapOf, NOW } from "./sandboxes.ts";
import { aTemplate } from "./templates.ts";

const API = "extensions.agents.x-k8s.io/v1beta1";

/** What the hook's flags say unless told otherwise. */
export const CONFIG: WarmPoolConfig = {
  readinessGraceSeconds: 300,
  maxBatchSize: 300,
  maxRefillRate: 0,
  replenishDelaySeconds: 0,
  poolIntervalMs: 0,
  templateNetworkPolicy: "required",
};

/** What a pool's hook is shown. */
export interface World {
  pool?: SandboxWarmPool;
  /** null: there is none. */
  template?: SandboxTemplate | null;
  sandboxes?: Sandbox[];
  /** null: there is none; absent: the hook has not asked for it yet. */
  policy?: KubeObject | null;
}

/** Makes a request of the SandboxWarmPool hook as Metacontroller sends it. */
export function aPoolRequest({ pool = aPool(), template = aTemplate(), sandboxes = [], policy }: World = {}) {
  const children = { "Sandbox.agents.x-k8s.io/v1beta1": {}, ...onlyOwn(mapOf(sandboxes)) };
  const related = { [`SandboxTemplate.${API}`]: {}, ...onlyOwn(mapOf(template ? [template] : [])) };
  const policies = policy === undefined ? {} : { "NetworkPolicy.networking.k8s.io/v1": {}, ...mapOfPolicy(policy) };
  return { parent: pool, children, related: { ...related, ...policies }, finalizing: false } as Observed<
    SandboxWarmPool
  >;
}

function mapOfPolicy(policy: KubeObject | null): Observed<unknown>["related"] {
  if (!policy) return {};
  const { namespace, name } = policy.metadata;
  return { "NetworkPolicy.networking.k8s.io/v1": { [`${namespace}/${name}`]: policy } };
}

/** {@link mapOf} lists the Sandbox hook's kinds, too. */
function onlyOwn(map: Observed<unknown>["children"]): Observed<unknown>["children"] {
  return Object.fromEntries(Object.entries(map).filter(([key]) => key.includes("agents.x-k8s.io")));
}

/** The arguments of the hook apart from its request; the default time is {@link NOW}. */
export interface Call {
  config?: Partial<WarmPoolConfig>;
  now?: Date;
}

type PoolAnswer = Desired<SandboxWarmPoolStatus>;

/** Calls the hook. */
export function syncPool(world: World, { config, now = NOW }: Call = {}): PoolAnswer {
  return syncSandboxWarmPool(aPoolRequest(world), now, { ...CONFIG, ...config });
}

/** Returns the time so many seconds after {@link NOW}. */
export function later(seconds: number): Date {
  return new Date(NOW.getTime() + seconds * 1000);
}

/** Finds a Sandbox in an answer. */
export function named({ children }: PoolAnswer, name: string): DesiredObject | undefined {
  return children.find(({ metadata }) => metadata.name === name);
}

/** Names the members that an answer makes. */
export function newNames({ children }: PoolAnswer, { sandboxes = [] }: World = {}): string[] {
  const there = new Set(sandboxes.map(({ metadata }) => metadata.name));
  return children.map(({ metadata }) => metadata.name).filter((name) => !there.has(name));
}

/** Maps the Sandboxes that an answer marks to the reasons, by name. */
export function marks({ children }: PoolAnswer): Record<string, string> {
  return Object.fromEntries(children.flatMap(({ metadata: { name, labels } }) => {
    const reason = labels?.["agents.x-k8s.io/draining"];
    return reason === undefined ? [] : [[name, reason]];
  }));
}
