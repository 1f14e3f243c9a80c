/** A pool in a store whose views lag: what Metacontroller does with an answer, on versions that may be old. @module */
import { type Sandbox, sandboxSchema } from "../../../api/sandbox.ts";
import { type SandboxClaim, sandboxClaimSchema } from "../../../api/sandboxclaim.ts";
import type { Memories } from "../../../hooks/sandboxwarmpool/memory.ts";
import { applyCreate, applyUpdate, sameJson } from "../../../lib/apply.ts";
import { controllerOf, type DesiredObject } from "../../../lib/objects.ts";
import { later, syncPool } from "../../poolcalls.ts";
import { aClaim, aPool, STATUS } from "../../pools.ts";

type Stored = Map<string, Sandbox>;
type Claims = Map<string, SandboxClaim>;

/** All versions of Sandboxes and claims, and how far the hook's views of each have come. */
export interface Lagging {
  sandboxes: Stored[];
  claims: Claims[];
  sandboxesSeen: number;
  claimsSeen: number;
  replicas: number;
  seconds: number;
  memories: Memories;
  writes: number;
  /** What must never happen, and did. */
  faults: string[];
}

export function newLagging(replicas: number): Lagging {
  const views = { sandboxes: [new Map()], claims: [new Map()], sandboxesSeen: 0, claimsSeen: 0 };
  return { ...views, replicas, seconds: 0, memories: new Map(), writes: 0, faults: [] };
}

/** Calls the hook on its views, and does to the store what Metacontroller would. */
export function sync(world: Lagging): void {
  const isOurs = ({ metadata }: Sandbox) => controllerOf(metadata)?.uid === "uid-warm";
  const seen = new Map([...at(world.sandboxes, world.sandboxesSeen)].filter(([, sandbox]) => isOurs(sandbox)));
  const shown = {
    pool: aPool({ spec: { replicas: world.replicas } }),
    sandboxes: [...seen.values()],
    claims: [...at(world.claims, world.claimsSeen).values()],
  };
  const { children } = syncPool(shown, { memories: world.memories, now: later(world.seconds) });
  const wanted = new Set(children.map(({ metadata }) => metadata.name));
  for (const sandbox of seen.values()) if (!wanted.has(sandbox.metadata.name)) remove(world, sandbox);
  for (const child of children) {
    const sandbox = seen.get(child.metadata.name);
    if (sandbox) update(world, sandbox, child);
    else create(world, child);
  }
}

function create(world: Lagging, child: DesiredObject): void {
  const { name, labels } = child.metadata;
  if (last(world.sandboxes).has(name)) return;
  const made = applyCreate({
    ...child,
    metadata: { ...child.metadata, labels: { "controller-uid": "uid-warm", ...labels } },
  });
  const creationTimestamp = later(world.seconds).toISOString();
  const system = {
    namespace: "team-a",
    uid: `${name}-${++world.writes}`,
    resourceVersion: `${world.writes}`,
    creationTimestamp,
  };
  put(world, sandboxSchema.parse({ ...made, metadata: { ...made.metadata, ...system } }));
  const members = [...last(world.sandboxes).values()].filter(({ metadata }) =>
    controllerOf(metadata)?.uid === "uid-warm" && metadata.annotations?.["agents.x-k8s.io/for-claim"] === undefined
  );
  if (members.length > world.replicas && labels?.["agents.x-k8s.io/launch-type"] === "warm") {
    world.faults.push(`${members.length} of ${world.replicas} members`);
  }
}

/** A PUT on condition that nothing has changed since the view. */
function update(world: Lagging, sandbox: Sandbox, child: DesiredObject): void {
  const written = applyUpdate(sandbox, child);
  const stored = last(world.sandboxes).get(sandbox.metadata.name);
  if (sameJson(written, sandbox) || stored?.metadata.resourceVersion !== sandbox.metadata.resourceVersion) return;
  put(
    world,
    sandboxSchema.parse({ ...written, metadata: { ...written.metadata, resourceVersion: `${++world.writes}` } }),
  );
  const owners = [...last(world.sandboxes).values()].map(({ metadata }) => controllerOf(metadata)?.uid ?? "");
  const twice = owners.filter((uid, index) => uid !== "uid-warm" && owners.indexOf(uid) < index);
  if (twice.length > 0) world.faults.push(`claim ${twice[0]} has two Sandboxes`);
}

/** A DELETE on condition that it is still the same object, whatever its version. */
function remove(world: Lagging, { metadata: { name, uid } }: Sandbox): void {
  const stored = last(world.sandboxes).get(name);
  if (stored?.metadata.uid !== uid) return;
  if (stored?.metadata.labels?.["agents.x-k8s.io/draining"] === undefined) world.faults.push(`${name} went unmarked`);
  if (controllerOf(stored?.metadata ?? { name })?.kind !== "SandboxWarmPool") {
    world.faults.push(`a claim's ${name} went`);
  }
  const next = new Map(last(world.sandboxes));
  next.delete(name);
  world.sandboxes.push(next);
}

/** Makes a claim; one of that name that is there stays. */
export function claim(world: Lagging, name: string, spec: object): void {
  if (last(world.claims).has(name)) return;
  const creationTimestamp = later(world.seconds).toISOString();
  const made = aClaim(name, { spec, metadata: { uid: `${name}-${++world.writes}`, creationTimestamp } });
  world.claims.push(new Map([...last(world.claims), [name, made]]));
}

/** Deletes a claim, and with it its Sandboxes. */
export function unclaim(world: Lagging, name: string): void {
  const uid = last(world.claims).get(name)?.metadata.uid;
  if (uid === undefined) return;
  world.claims.push(new Map([...last(world.claims)].filter(([each]) => each !== name)));
  world.sandboxes.push(
    new Map([...last(world.sandboxes)].filter(([, { metadata }]) => controllerOf(metadata)?.uid !== uid)),
  );
}

/** Lets every claim that has a Sandbox say so. */
export function bind(world: Lagging): void {
  const owners = new Set([...last(world.sandboxes).values()].map(({ metadata }) => controllerOf(metadata)?.uid));
  const bound = [...last(world.claims)].map(([name, object]) => {
    const labels = { "agents.x-k8s.io/claim-bound": "true" };
    const isBound = owners.has(object.metadata.uid);
    return [
      name,
      isBound ? sandboxClaimSchema.parse({ ...object, metadata: { ...object.metadata, labels } }) : object,
    ] as const;
  });
  world.claims.push(new Map(bound));
}

/** Lets every Sandbox become Ready. */
export function ready(world: Lagging): void {
  for (const sandbox of last(world.sandboxes).values()) {
    if (sandbox.status) continue;
    const metadata = { ...sandbox.metadata, resourceVersion: `${++world.writes}` };
    put(world, sandboxSchema.parse({ ...sandbox, metadata, status: STATUS.ready }));
  }
}

/** Lets the views come so many versions nearer. */
export function look(world: Lagging, sandboxes: number, claims: number): void {
  world.sandboxesSeen = Math.min(world.sandboxesSeen + sandboxes, world.sandboxes.length - 1);
  world.claimsSeen = Math.min(world.claimsSeen + claims, world.claims.length - 1);
}

function put(world: Lagging, sandbox: Sandbox): void {
  world.sandboxes.push(new Map([...last(world.sandboxes), [sandbox.metadata.name, sandbox]]));
}

function at<T>(versions: T[], index: number): T {
  return versions[index] as T;
}

export function last<T>(versions: T[]): T {
  return versions.at(-1) as T;
}
