/**
 * Creates what must exist before a shape begins: namespaces, templates, pools and idle Sandboxes. Warms up the
 * processes. @module
 */
import { controllerOf } from "../../../packages/api/objects/objects.ts";
import { answerError, type Api, isOk, pathOf } from "../../../packages/kube/api.ts";
import { type Followed, type Follower, followReady, isReady } from "../load/follower.ts";
import {
  aClaim,
  aPool,
  aRuntimeTemplate,
  aSandbox,
  aTemplate,
  create,
  createAll,
  removeAll,
} from "../load/requests.ts";
import { SHARDS } from "../stage/layout.ts";
import { leftoverFaults } from "./checks.ts";
import { PATIENCE, poolCount, type RunContext, type Shape, usesRuntime } from "./shape.ts";

/** How many seconds pools must stay full to count as stable: their status may lag behind. */
const STABLE_SECONDS = 1;

/** The namespace of idle Sandboxes that must be separate. */
const APART = "bench-apart";

/** Returns the namespace of the object with this index. Objects are distributed in turn. */
export function namespaceOf({ namespaces }: Shape, index: number): string {
  return `bench-${index % namespaces}`;
}

/** Returns the pool of the object with this index, and its namespace. */
export function poolOf(shape: Shape, index: number): { namespace: string; name: string } {
  const place = index % poolCount(shape);
  return { namespace: namespaceOf(shape, place), name: `pool-${place}` };
}

/** Creates namespaces, a template in each, and the idle Sandboxes. Resolves when these are Ready. */
export async function prepareCluster({ api, signal, progress }: RunContext, shape: Shape): Promise<void> {
  for (let index = 0; index < shape.namespaces; index++) {
    const namespace = namespaceOf(shape, index);
    await create(api, { resource: "namespaces" }, { kind: "Namespace", metadata: { name: namespace } });
    if (shape.workload !== "sandboxes") {
      const template = usesRuntime(shape) ? aRuntimeTemplate("template") : aTemplate("template");
      await create(api, { resource: "sandboxtemplates", namespace }, template);
    }
  }
  if (shape.standing === 0) return;
  if (shape.standsApart) {
    await create(api, { resource: "namespaces" }, { kind: "Namespace", metadata: { name: APART } });
  }
  progress(`${shape.standing} Sandboxes to stand idle …`);
  const watching = new AbortController();
  const sandboxes = await followReady(api, "sandboxes", AbortSignal.any([signal, watching.signal]));
  await createAll(api, shape.standing, (index) => ({
    path: { resource: "sandboxes", namespace: shape.standsApart ? APART : namespaceOf(shape, index) },
    body: aSandbox(`standing-${index}`),
  }));
  const stand = await sandboxes.until(() => sandboxes.readyAt.size >= shape.standing, PATIENCE * 4);
  watching.abort();
  if (!stand) throw new Error(`Cannot begin: ${sandboxes.readyAt.size} of ${shape.standing} idle Sandboxes are Ready`);
}

/** Creates the pools of a shape. */
export async function createPools({ api }: RunContext, shape: Shape): Promise<void> {
  await createAll(api, poolCount(shape), (index) => {
    const { namespace, name } = poolOf(shape, index);
    // The pools alternate between the shards, for layouts with two Metacontrollers.
    const shard = SHARDS[index % SHARDS.length] ?? SHARDS[0];
    return { path: { resource: "sandboxwarmpools", namespace }, body: aPool(name, "template", shape.replicas, shard) };
  });
}

/** Creates everything that a shape with claims needs. Resolves when its pools are full. @throws if they do not fill */
export async function fillPools(context: RunContext, shape: Shape): Promise<Follower> {
  await prepareCluster(context, shape);
  const pools = await followReady(context.api, "sandboxwarmpools", context.signal);
  await createPools(context, shape);
  if (!await untilFull(context, pools, shape)) throw new Error("Cannot begin: the pools do not fill");
  return pools;
}

/**
 * Waits until every pool has been full for a while, according to its status and its members; false: this took too long.
 */
export async function untilFull({ api }: Pick<RunContext, "api">, pools: Follower, shape: Shape): Promise<boolean> {
  const full = () => {
    const ready = [...pools.objects.values()].filter(({ status }) => (status?.readyReplicas ?? 0) >= shape.replicas);
    return ready.length >= poolCount(shape);
  };
  // One Sandbox per second is slow, but it is no failure.
  const patience = Math.max(PATIENCE, poolCount(shape) * shape.replicas);
  const late = performance.now() + patience * 1000;
  while (performance.now() < late) {
    if (!await pools.until(full, patience)) return false;
    if (
      !await pools.until(() => !full(), STABLE_SECONDS) && await readyMembers(api) >= poolCount(shape) * shape.replicas
    ) {
      return true;
    }
  }
  return false;
}

/**
 * Counts members of pools that are Ready. A pool's status may report "full" before it shows that members were bound.
 */
async function readyMembers(api: Api): Promise<number> {
  const answer = await api.send({ method: "GET", path: pathOf({ resource: "sandboxes" }) });
  if (!isOk(answer)) throw answerError("list Sandboxes", answer);
  const { items } = answer.body as { items: Followed[] };
  return items.filter((one) => isReady(one) && controllerOf(one.metadata)?.kind === "SandboxWarmPool").length;
}

/**
 * Creates `shape.warmUp` objects of the shape's kind, and deletes them again.
 *
 * @returns whether the shape has a warm-up; its pools may still have to fill after it
 * @throws if the objects do not become Ready, or are not deleted
 */
export async function warmUp(context: RunContext, shape: Shape): Promise<boolean> {
  const { api, signal, progress } = context;
  const { workload, warmUp: count = 0 } = shape;
  if (count === 0) return false;
  const resource = workload === "sandboxes" ? "sandboxes" : "sandboxclaims";
  progress(`${count} to warm up …`);
  const watching = new AbortController();
  const made = await followReady(api, resource, AbortSignal.any([signal, watching.signal]));
  const name = (index: number) => `warm-up-${index}`;
  const pathOf = (index: number) => ({ resource, namespace: namespaceOf(shape, index) }) as const;
  await createAll(api, count, (index) => ({
    path: pathOf(index),
    body: workload === "sandboxes" ? aSandbox(name(index)) : aClaim(name(index), poolOf(shape, index).name),
  }));
  const isWarm = (key: string) => key.includes("/warm-up-");
  const areReady = await made.until(() => [...made.readyAt.keys()].filter(isWarm).length >= count, PATIENCE);
  watching.abort();
  if (!areReady) throw new Error(`Cannot begin: not all of the first ${count} ${resource} become Ready`);
  await removeAll(api, Array.from({ length: count }, (_, index) => ({ ...pathOf(index), name: name(index) })));
  const [fault] = await leftoverFaults(context, shape);
  if (fault) throw new Error(`Cannot begin: ${fault}`);
  return true;
}
