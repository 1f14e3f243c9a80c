/** Reports members of a pool that the API server does not let Metacontroller delete or mark for deletion. @module */
import type { Problem } from "../api/keeperreports.ts";
import { CLAIM_UID_LABEL, DRAINING_LABEL, UNRESOLVED_ANNOTATION, WARM_POOL_LABEL } from "../api/objects/keys.ts";
import { nameHash } from "../api/objects/names.ts";
import { controllerOf, type KubeObject } from "../api/objects/objects.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import { type Api, pathOf } from "../kube/api.ts";
import type { Reconciler } from "../kube/reconcilequeue.ts";
import { pagesOf } from "../kube/requests.ts";
import type { Clock } from "../process/clock.ts";
import { publishProblems } from "./child.ts";
import { INTERVALS, type Intervals, lookReconciler, type Report, type Situation } from "./reconciler.ts";
import type { RefusedWrites } from "./refusedwrites.ts";
import { knownRefusals, refusalWords, stuckProblem, updateRefusal } from "./stuckproblem.ts";

interface StuckMembersOptions {
  api: Api;
  report: Report;
  refusedWrites: Pick<RefusedWrites, "of">;
  intervals?: Intervals | undefined;
  clock?: Clock | undefined;
}

/**
 * Creates the reconciler. It sends no request for a pool without refused writes, and lists the pool's Sandboxes for any
 * other.
 */
export function stuckMembersReconciler(
  { api, report, refusedWrites, intervals = INTERVALS, clock }: StuckMembersOptions,
): Reconciler<SandboxWarmPool> {
  return lookReconciler({
    name: "stuck members",
    intervals,
    clock,
    situationOf({ metadata }: SandboxWarmPool, now): Situation & { refusal: string | undefined } | undefined {
      const refusal = refusedWrites.of(metadata, now);
      const isAnnotated = metadata.annotations?.[UNRESOLVED_ANNOTATION] !== undefined;
      if (metadata.deletionTimestamp !== undefined || (refusal === undefined && !isAnnotated)) return undefined;
      return { key: `${metadata.generation} ${refusal ?? ""}`, kind: "look", refusal };
    },
    async look(pool, { refusal }) {
      const problem = await findStuck(api, pool, refusal);
      const parent = { kind: "SandboxWarmPool", resource: "sandboxwarmpools", metadata: pool.metadata } as const;
      const isPublished = await publishProblems(api, report, parent, problem ? [problem] : []);
      return problem || !isPublished ? "problem" : "whole";
    },
  });
}

async function findStuck(api: Api, pool: SandboxWarmPool, refusal: string | undefined): Promise<Problem | undefined> {
  const known = knownRefusals(pool.metadata, "Sandbox", refusal);
  if (known.length === 0) return undefined;
  const sandboxes = await sandboxesOf(api, pool);
  const staying = sandboxes.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const marked = staying.filter(({ metadata }) => metadata.labels?.[DRAINING_LABEL] !== undefined);
  if (marked.length > 0) return problemOf("delete", marked, refusalWords("delete", known));
  const members = staying.filter(({ metadata }) => metadata.labels?.[CLAIM_UID_LABEL] === undefined);
  const surplus = members.slice(pool.spec.replicas);
  // The hook also deletes members that differ from the template. Only the recent refusal shows which ones.
  const named = members.filter(({ metadata }) => refusal?.includes(`"${metadata.name}"`));
  const unmarked = surplus.length > 0 ? surplus : named;
  const [first] = unmarked;
  if (!first) return undefined;
  const target = { kind: "Sandbox", resource: "sandboxes", metadata: first.metadata } as const;
  // Being named in the refusal proves nothing; only a dry run does.
  const words = surplus.length > 0 ? refusalWords("update", known) : undefined;
  return problemOf("update", unmarked, await updateRefusal(api, target, MARK, words));
}

/** What the hook changes in a member that the pool does not need. For other members, the value of the label differs. */
const MARK = { metadata: { labels: { [DRAINING_LABEL]: "surplus" } } };

async function sandboxesOf(api: Api, { metadata: { namespace, name, uid } }: SandboxWarmPool): Promise<KubeObject[]> {
  const found: KubeObject[] = [];
  const query = { labelSelector: `${WARM_POOL_LABEL}=${nameHash(name)}` };
  for await (const { items } of pagesOf<KubeObject>(api, pathOf({ resource: "sandboxes", namespace }), query)) {
    // Keep only what is needed of each page, because members can be large.
    for (const { apiVersion, kind, metadata } of items) {
      if (controllerOf(metadata)?.uid === uid) found.push({ apiVersion, kind, metadata: { ...metadata } });
    }
  }
  return found;
}

function problemOf(
  verb: "delete" | "update",
  [first, ...others]: KubeObject[],
  words: string | undefined,
): Problem | undefined {
  if (words === undefined) return undefined;
  return stuckProblem(verb, { kind: "Sandbox", name: first?.metadata.name ?? "" }, words, others.length);
}
