/** Hand-over from a pool to claims under late watches, slow and lost requests, and engines that die: searched at random. @module */
import { expect, test } from "vitest";
import { type Engine, startEngine } from "../../../dev/metacontroller/engine.ts";
import { createMemoryStore, type Fault, type StoreRequest } from "../../../dev/metacontroller/store-memory.ts";
import { StoreError } from "../../../dev/metacontroller/store.ts";
import { lastApplied } from "../../../lib/apply.ts";
import { controllerOf, type KubeObject } from "../../../lib/objects.ts";
import { aComposite, aCrd, aDecorator, aHook, API, aThing } from "./world.ts";
import fc, { runs } from "../../properties.ts";

const SIZE = 3;
const CLAIMS = 6;
const BY = "metacontroller.k8s.io/decorator-controller";
const unbound = { matchExpressions: [{ key: "bound", operator: "DoesNotExist" }] };
const values = (map: unknown) => Object.values((map ?? {}) as Record<string, KubeObject>);
const reference = ({ apiVersion, kind, metadata: { name, uid } }: KubeObject) => ({
  apiVersion,
  kind,
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
});

interface Request {
  parent: KubeObject;
  object: KubeObject;
  children: Record<string, unknown>;
  attachments: Record<string, unknown>;
  related: Record<string, unknown>;
}

/** The rules of the design in small: no memory but names that are never used twice. */
function makeHooks() {
  let made = 0;
  return {
    customize: () => ({
      relatedResources: [{ apiVersion: API, resource: "claims", namespace: "ns", labelSelector: unbound }],
    }),
    pool({ parent, children, related }: Request) {
      const boxes = values(children[`Box.${API}`]);
      const waiting = values(related[`Claim.${API}`]);
      const desired = boxes.map((box) => lastApplied(box) as unknown as KubeObject);
      const free = desired.filter(({ metadata }) => !metadata.annotations?.["claim"]);
      const pairs = waiting.slice(0, free.length).map((claim, i) => ({ claim, box: free[i] }));
      for (const { claim, box } of pairs) {
        if (!box) continue;
        box.metadata.ownerReferences = [reference(claim)] as never;
        box.metadata.annotations = { ...box.metadata.annotations, claim: claim.metadata.uid ?? "" };
      }
      const missing = pairs.length > 0 ? 0 : Math.max(SIZE - free.length, 0);
      const fresh = Array.from({ length: missing }, () => ({
        apiVersion: API,
        kind: "Box",
        metadata: { name: `box-${made++}`, annotations: { [BY]: "claims" }, ownerReferences: [reference(parent)] },
      }));
      return {
        status: { free: free.length },
        children: [...desired, ...fresh],
        ...(pairs.length > 0 && { resyncAfterSeconds: 0.03 }),
      };
    },
    claim({ object, attachments }: Request) {
      const boxes = values(attachments[`Box.${API}`]).sort((a, b) => a.metadata.name < b.metadata.name ? -1 : 1);
      const chosen = (object["status"] as { box?: string } | undefined)?.box ?? boxes[0]?.metadata.name;
      const kept = boxes.filter(({ metadata }) => metadata.name === chosen).map(({ metadata: { name } }) => ({
        apiVersion: API,
        kind: "Box",
        metadata: { name },
      }));
      if (kept.length === 0) return { attachments: [] };
      return { labels: { bound: "true" }, status: { box: chosen }, attachments: kept };
    },
  };
}

/** Notes what must never happen, at the moment it is written. */
function watchdog() {
  const violations: string[] = [];
  const claimOf = (box: KubeObject) => {
    const owner = controllerOf(box.metadata);
    return owner?.kind === "Claim" ? owner.name : undefined;
  };
  const check = (object: KubeObject, old: KubeObject | undefined) => {
    if (old && object.kind === "Box" && claimOf(old) && claimOf(old) !== claimOf(object)) {
      violations.push(`${object.metadata.name} went from ${claimOf(old)} to ${claimOf(object)}`);
    }
    const [before, after] = [old, object].map((state) => (state?.["status"] as { box?: string } | undefined)?.box);
    if (object.kind === "Claim" && before && before !== after) {
      violations.push(`${object.metadata.name} changed ${before} for ${after}`);
    }
    return object;
  };
  return { violations, check };
}

/** Runs one world by a seed; returns the violations and who has what in the end. */
async function run(seed: number, deaths: number) {
  const random = generator(seed);
  let calm = false;
  const { violations, check } = watchdog();
  const fault = ({ verb, resource }: StoreRequest): Fault | undefined => {
    if (calm || resource.kind === "Event") return undefined;
    const delayMs = Math.floor(random() * 40);
    const broken = random() < 0.03 && verb !== "get"
      ? { error: new StoreError(500, "InternalError", "lost"), applied: random() < 0.5 }
      : {};
    return { delayMs, ...broken };
  };
  const store = createMemoryStore({ admit: check, fault, watchDelay: () => calm ? 0 : Math.floor(random() * 60) });
  for (const kind of ["Pool", "Box", "Claim"]) await store.put(aCrd(kind));
  await store.put(aComposite({
    parentResource: { apiVersion: API, resource: "pools", ignoreStatusChanges: true },
    childResources: [{ apiVersion: API, resource: "boxs", updateStrategy: { method: "InPlace" } }],
    hooks: { sync: aHook("/pool"), customize: aHook("/customize", "v1") },
  }, "pools"));
  await store.put(aDecorator({
    resources: [{ apiVersion: API, resource: "claims", ignoreStatusChanges: true }],
    attachments: [{ apiVersion: API, resource: "boxs" }],
    hooks: { sync: aHook("/claim") },
  }, "claims"));
  await store.put(aThing("pool", {}, "Pool"));
  const hooks: Record<string, (request: Request) => unknown> = makeHooks() as never;
  const start = (): Engine =>
    startEngine({
      store,
      fetch: async (url, init) => {
        const name = new URL(url).pathname.slice(1);
        const answer = Response.json(hooks[name]?.(JSON.parse(String(init.body))));
        const wait = calm ? 0 : Math.floor(random() * 20);
        await new Promise<void>((resolve) => store.clock.setTimeout(resolve, wait));
        return random() < 0.03 && !calm ? new Response("", { status: 500 }) : answer;
      },
    });
  let engine = start();
  for (let i = 0; i < CLAIMS; i++) {
    await store.clock.advance(Math.floor(random() * 100));
    await store.put(aThing(`claim-${i}`, {}, "Claim"));
    if (i >= deaths) continue;
    const stopped = engine.stop();
    await store.clock.advance(200);
    await stopped;
    engine = start();
  }
  await store.clock.advance(20_000);
  calm = true;
  await store.clock.advance(20_000);
  const stopped = engine.stop();
  await store.clock.advance(1000);
  await stopped;
  const owners = store.objects(API, "Box").flatMap((box) =>
    controllerOf(box.metadata)?.kind === "Claim" ? [controllerOf(box.metadata)?.name] : []
  ).sort();
  const bound = store.objects(API, "Claim").map((claim) => (claim["status"] as { box?: string } | undefined)?.box);
  return { violations, owners, bound };
}

test("no box serves two claims, no claim changes its box, all are served, surplus is dropped", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), fc.integer({ min: 0, max: 2 }), async (seed, deaths) => {
      const { violations, owners, bound } = await run(seed, deaths);
      expect(violations).toStrictEqual([]);
      expect(owners).toStrictEqual(Array.from({ length: CLAIMS }, (_, i) => `claim-${i}`));
      expect(new Set(bound).size).toBe(CLAIMS);
      expect(bound).not.toContain(undefined);
    }),
    { numRuns: runs(15) },
  );
});

/** Numbers from 0 to 1 that a seed fixes. */
function generator(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
