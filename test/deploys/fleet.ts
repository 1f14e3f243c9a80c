/** Sandboxes that run, in three namespaces: on their own with a volume, as members of pools, and as claims'. @module */
import { canonicalJson, LAST_APPLIED_ANNOTATION } from "../../packages/api/objects/apply.ts";
import {
  REFUSED_WRITE_ANNOTATION,
  UNRESOLVED_ANNOTATION,
  WOKEN_AT_ANNOTATION,
} from "../../packages/api/objects/keys.ts";
import type { HookCalls } from "../../packages/webhook/hook.ts";
import { createDeletionBudget, type LossBudget } from "../../packages/process/deletionbudget.ts";
import { createTestCluster, type TestCluster } from "../../packages/testing/mod.ts";
import { claim, pool, sandbox } from "../testing/objects.ts";

const NAMESPACES = ["team-a", "team-b", "team-c"] as const;
/** As hooks are served by default. */
export const LOSSES_PER_MINUTE = 600;
const volumeClaimTemplates = [{ metadata: { name: "home" }, spec: { accessModes: ["ReadWriteOnce"] } }];

const PASSING = [
  LAST_APPLIED_ANNOTATION,
  REFUSED_WRITE_ANNOTATION,
  UNRESOLVED_ANNOTATION,
  WOKEN_AT_ANNOTATION,
  "example.com/looked-at",
];

type Stored = ReturnType<TestCluster["objects"]>[number];

/** A fleet, and what becomes of it. */
export interface Fleet {
  cluster: TestCluster;
  /** Puts hooks in the place of those that run; without any, the good ones again. */
  deploy(hooks?: Record<string, () => HookCalls>): void;
  /** Requeues every parent. */
  look(): Promise<void>;
  /** Requeues them once a minute. */
  live(minutes: number): Promise<void>;
  /** Lists what is no more, or no more what it was: a Sandbox, a Pod, a volume, a Service, a NetworkPolicy. */
  lost(): string[];
  /** Lists what has come into being since the fleet was started, but for Sandboxes of these names. */
  made(but?: string): string[];
  /** Sandboxes that run. */
  running(): number;
}

/**
 * Starts a fleet of `size` Sandboxes, a third of each kind; those on their own are to expire in a year.
 *
 * @param good the hooks that it is started with; each deploy begins with an empty budget, as a new process does
 */
export async function startFleet(size: number, good: Record<string, () => HookCalls>): Promise<Fleet> {
  const share = Math.floor(size / 3 / NAMESPACES.length);
  const current = new Map<string, { calls: HookCalls; budget: LossBudget }>();
  const deploy = (hooks = good) => {
    for (const [name, make] of Object.entries(hooks)) {
      const budget = createDeletionBudget({ perMinute: LOSSES_PER_MINUTE, now: () => cluster.clock.now() });
      current.set(name, { calls: make(), budget });
    }
  };
  const served = (name: string, calls: HookCalls): HookCalls => ({
    ...calls,
    sync(body, now) {
      const { calls, budget } = current.get(name)!;
      return calls.sync(body, now, budget);
    },
  });
  const hooks = Object.fromEntries(
    Object.entries(good).map(([name, make]): [string, () => HookCalls] => [name, () => served(name, make())]),
  );
  const cluster = await createTestCluster({ namespaces: [...NAMESPACES], hooks });
  deploy();
  const inAYear = new Date(cluster.clock.now() + 365 * 86_400_000).toISOString();
  for (const namespace of NAMESPACES) {
    const inside = <T extends { metadata: object }>(object: T) => ({
      ...object,
      metadata: { ...object.metadata, namespace },
    });
    await cluster.apply(...pool(2 * share).map(inside));
    await cluster.clock.advance(5000);
    const names = Array.from({ length: share }, (_, index) => index);
    await cluster.apply(...names.map((n) =>
      inside(sandbox(`own-${n}`, {
        service: true,
        volumeClaimTemplates,
        shutdownTime: inAYear,
      }))
    ));
    const lifecycle = (n: number) => ({
      lifecycle: { ttlSecondsAfterFinished: 30, shutdownPolicy: n % 2 === 0 ? "Delete" : "Retain" },
    });
    await cluster.apply(...names.map((n) => inside(claim(`claim-${n}`, lifecycle(n)))));
    await cluster.clock.advance(5000);
    await cluster.patch("SandboxWarmPool", "shells", { spec: { replicas: share } }, namespace);
  }
  await cluster.clock.advance(60_000);
  const kinds = ["Sandbox", "Pod", "PersistentVolumeClaim", "Service", "NetworkPolicy"];
  // What others note on an object says nothing of what it is.
  const stateOf = ({ spec, metadata: { labels, annotations = {}, finalizers, ownerReferences } }: Stored): string => {
    const lasting = Object.entries(annotations).filter(([key]) => !PASSING.includes(key));
    return canonicalJson({ spec, labels, finalizers, ownerReferences, annotations: Object.fromEntries(lasting) });
  };
  const fleet = kinds.flatMap((kind) => cluster.objects(kind)).filter((object) =>
    object.metadata.deletionTimestamp === undefined
  );
  const states = new Map(fleet.map((object) => [object.metadata.uid, stateOf(object)]));
  let looks = 0;
  const look = async () => {
    const annotations = { "example.com/looked-at": String(looks++) };
    for (const kind of ["Sandbox", "SandboxClaim", "SandboxWarmPool", "SandboxTemplate"]) {
      for (const { metadata: { name, namespace } } of cluster.objects(kind)) {
        // What was looked at before it may have taken it along.
        if (cluster.get(kind, name, namespace)) {
          await cluster.patch(kind, name, { metadata: { annotations } }, namespace);
        }
      }
    }
  };
  return {
    cluster,
    deploy,
    look,
    async live(minutes) {
      for (let minute = 0; minute < minutes; minute++) {
        await look();
        await cluster.clock.advance(60_000);
      }
    },
    lost() {
      const alive = new Map(
        kinds.flatMap((kind) => cluster.objects(kind)).map((object) => [object.metadata.uid, object]),
      );
      return fleet.filter(({ metadata }) => {
        const now = alive.get(metadata.uid);
        return !now || now.metadata.deletionTimestamp !== undefined || stateOf(now) !== states.get(metadata.uid);
      }).map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`);
    },
    made: (but = "") =>
      kinds.flatMap((kind) => cluster.objects(kind)).filter(({ metadata }) =>
        !states.has(metadata.uid) && (but === "" || !metadata.name.startsWith(but))
      ).map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`),
    running: () => fleet.filter(({ kind }) => kind === "Sandbox").length,
  };
}
