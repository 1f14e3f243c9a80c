/** A pool in a store whose views lag: what Metacontroller does with an answer, on versions that may be old. @module */
import { type Sandbox, sandboxSchema } from "../../../packages/api/sandbox.ts";
import type { SandboxWarmPoolStatus } from "../../../packages/api/sandboxwarmpool.ts";
import { boundMember } from "../../../packages/binder/boundsandbox.ts";
import { applyCreate, applyUpdate, sameJson } from "../../../packages/api/objects/apply.ts";
import { controllerOf, type DesiredObject } from "../../../packages/api/objects/objects.ts";
import { later, syncPool } from "../../poolcalls.ts";
import { aClaim, ago, aPool, STATUS } from "../../pools.ts";
import { aTemplate } from "../../templates.ts";

type Stored = Map<string, Sandbox>;

/** All versions of Sandboxes and of the pool's status, and how far the hook's views of each have come. */
export interface Lagging {
  sandboxes: Stored[];
  statuses: (SandboxWarmPoolStatus | undefined)[];
  sandboxesSeen: number;
  statusesSeen: number;
  replicas: number;
  seconds: number;
  writes: number;
  /** What must never happen, and did. */
  faults: string[];
}

export function newLagging(replicas: number): Lagging {
  const views = { sandboxes: [new Map()], statuses: [undefined], sandboxesSeen: 0, statusesSeen: 0 };
  return { ...views, replicas, seconds: 0, writes: 0, faults: [] };
}

const isMember = ({ metadata }: Sandbox) => controllerOf(metadata)?.uid === "uid-warm";

/** Members in the store. */
export function membersOf(world: Lagging): Sandbox[] {
  return [...last(world.sandboxes).values()].filter(isMember);
}

/** Calls the hook on its views, and does to the store what Metacontroller would: members first, then the status. */
export function sync(world: Lagging): void {
  const seen = new Map([...at(world.sandboxes, world.sandboxesSeen)].filter(([, sandbox]) => isMember(sandbox)));
  const before = at(world.statuses, world.statusesSeen);
  const pool = aPool({
    metadata: { creationTimestamp: ago(60) },
    spec: { replicas: world.replicas },
    ...(before ? { status: before } : {}),
  });
  const { children, status } = syncPool({ pool, sandboxes: [...seen.values()] }, { now: later(world.seconds) });
  const wanted = new Set(children.map(({ metadata }) => metadata.name));
  for (const sandbox of seen.values()) if (!wanted.has(sandbox.metadata.name)) remove(world, sandbox);
  for (const child of children) {
    const sandbox = seen.get(child.metadata.name);
    if (sandbox) update(world, sandbox, child);
    else create(world, child);
  }
  // A status is written on condition that the pool is as it was seen.
  if (world.statusesSeen === world.statuses.length - 1 && !sameJson(before, status)) world.statuses.push(status);
}

function create(world: Lagging, child: DesiredObject): void {
  const { name, labels } = child.metadata;
  if (last(world.sandboxes).has(name)) return;
  const made = applyCreate({
    ...child,
    metadata: { ...child.metadata, labels: { "controller-uid": "uid-warm", ...labels } },
  });
  const system = {
    namespace: "team-a",
    uid: `${name}-${++world.writes}`,
    resourceVersion: `${world.writes}`,
    creationTimestamp: later(world.seconds).toISOString(),
  };
  put(world, sandboxSchema.parse({ ...made, metadata: { ...made.metadata, ...system } }));
  const count = membersOf(world).length;
  if (count > world.replicas) world.faults.push(`${count} of ${world.replicas} members`);
}

/** A PUT on condition that nothing has changed since the view. */
function update(world: Lagging, sandbox: Sandbox, child: DesiredObject): void {
  const written = applyUpdate(sandbox, child);
  const stored = last(world.sandboxes).get(sandbox.metadata.name);
  if (sameJson(written, sandbox) || stored?.metadata.resourceVersion !== sandbox.metadata.resourceVersion) return;
  put(world, versioned(world, written));
}

/** A DELETE on condition that it is still the same object, whatever its version. */
function remove(world: Lagging, { metadata: { name, uid } }: Sandbox): void {
  const stored = last(world.sandboxes).get(name);
  if (!stored || stored.metadata.uid !== uid) return;
  if (stored.metadata.labels?.["agents.x-k8s.io/draining"] === undefined) world.faults.push(`${name} went unmarked`);
  if (!isMember(stored)) world.faults.push(`a claim's ${name} went`);
  const next = new Map(last(world.sandboxes));
  next.delete(name);
  world.sandboxes.push(next);
}

/** Plays the binder: gives an unmarked member, whichever, to a claim. */
export function handOver(world: Lagging, which: number): void {
  const free = membersOf(world).filter(({ metadata }) => !metadata.labels?.["agents.x-k8s.io/draining"]);
  const member = free[which % Math.max(1, free.length)];
  if (!member) return;
  put(world, versioned(world, boundMember(member, aClaim(`c-${world.writes}`), aTemplate(), later(world.seconds))));
}

/** Lets every Sandbox become Ready. */
export function ready(world: Lagging): void {
  for (const sandbox of last(world.sandboxes).values()) {
    if (!sandbox.status) put(world, versioned(world, { ...sandbox, status: STATUS.ready }));
  }
}

/** Lets the views come so many versions nearer. */
export function look(world: Lagging, sandboxes: number, statuses: number): void {
  world.sandboxesSeen = Math.min(world.sandboxesSeen + sandboxes, world.sandboxes.length - 1);
  world.statusesSeen = Math.min(world.statusesSeen + statuses, world.statuses.length - 1);
}

function versioned(world: Lagging, sandbox: object): Sandbox {
  const { metadata, ...rest } = sandbox as Sandbox;
  return sandboxSchema.parse({ ...rest, metadata: { ...metadata, resourceVersion: `${++world.writes}` } });
}

function put(world: Lagging, sandbox: Sandbox): void {
  world.sandboxes.push(new Map([...last(world.sandboxes), [sandbox.metadata.name, sandbox]]));
}

function at<T>(versions: T[], index: number): T {
  return versions[index] as T;
}

function last<T>(versions: T[]): T {
  return versions.at(-1) as T;
}
