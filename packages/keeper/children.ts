/** Finds out why children of a Sandbox do not come into being: has them adopted, or says why not in an annotation. @module */
import { buildPod } from "../../hooks/sandbox/pod.ts";
import { buildPVCs } from "../../hooks/sandbox/pvcs.ts";
import { buildService } from "../../hooks/sandbox/service.ts";
import { MOST_VOLUMES } from "../api/blueprint.ts";
import { lifetimeOf } from "../api/expiry.ts";
import { findCondition } from "../api/objects/conditions.ts";
import { hasOtherPod, podNameOf } from "../api/podname.ts";
import type { Sandbox } from "../api/sandbox.ts";
import { type Problem, readUnresolved } from "../api/unresolved.ts";
import { type Answer, type Api, messageOf, pathOf } from "../kube/api.ts";
import { patchOf, sendPatch } from "../kube/patch.ts";
import { applyCreate } from "../api/objects/apply.ts";
import { CONTROLLER_UID_LABEL, POD_NAME_ANNOTATION, UNRESOLVED_ANNOTATION } from "../api/objects/keys.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import {
  type Child,
  type ChildKind,
  type ChildrenReconcilerOptions,
  findChild,
  type Finding,
  RESOURCES,
} from "./child.ts";
import { diagnose, DRY_RUN, dryRunVerdict } from "./diagnose.ts";
import { INTERVALS, lookReconciler, type Outcome, type Reconciler, type Situation } from "./reconciler.ts";
import { leavingChildren, stuckOrOurs } from "./stuckchildren.ts";
import { publishProblems } from "./unresolved.ts";

/**
 * Lists what to look at, in the order PersistentVolumeClaims, Pod, Service, as the hook builds it: that is what
 * Metacontroller would create. Of more volumes than a Sandbox may have none is made, and only the first are looked at.
 *
 * Of a suspended Sandbox that is the Pod alone: it should not exist, but a foreign one of its name is worth a word.
 */
export function wantedChildren(sandbox: Sandbox): Omit<Child, "found">[] {
  const pod = buildPod(sandbox);
  const desired = sandbox.spec.operatingMode === "Suspended" ? [pod] : [
    ...buildPVCs(sandbox).slice(0, MOST_VOLUMES),
    pod,
    ...(sandbox.spec.service === true ? [buildService(sandbox)] : []),
  ];
  return desired.map((child) => ({
    kind: child.kind as ChildKind,
    name: child === pod ? podNameOf(sandbox) : child.metadata.name,
    desired: child,
  }));
}

/** Makes the reconciler. A Sandbox that is Ready and carries no annotation costs no request. */
export function childrenReconciler(options: ChildrenReconcilerOptions): Reconciler<Sandbox> {
  const { api, report, intervals = INTERVALS, clock, refusedWrites } = options;
  return lookReconciler({
    name: "children",
    intervals,
    clock,
    situationOf: (sandbox: Sandbox, now) => situationOf(sandbox, now, refusedWrites?.of(sandbox.metadata, now)),
    async look(sandbox: Sandbox, { kind }) {
      const findings = await (kind === "leftover"
        ? leavingChildren(sandbox, ["Pod", "Service"], options)
        : findingsOf(sandbox, options));
      const problems = wordsOf(findings);
      const parent = { kind: "Sandbox", resource: "sandboxes", metadata: sandbox.metadata } as const;
      return await publishProblems(api, report, parent, problems) ? outcomeOf(sandbox, findings) : "problem";
    },
  });
}

/**
 * Tells what in a Sandbox calls for a look at its children; undefined: nothing.
 *
 * | mode | Ready | Suspended | annotation | situation |
 * |---|---|---|---|---|
 * | (being deleted) | | | any | none |
 * | (expired) | | | there, or a write of a child was refused | leftover |
 * | any | any | any | there | look |
 * | any | any | any | none, but a write of a child was refused | look |
 * | Running | False: something does not exist | any | none | look |
 * | Running | not True, with volume claim templates | any | none | look |
 * | Running | not True, and another Pod than one of its name is noted | any | none | look |
 * | Suspended | any | True | none | look |
 * | else | | | none | none |
 */
export function situationOf(sandbox: Sandbox, now: number, refusal?: string): Situation | undefined {
  const { metadata, spec, status } = sandbox;
  if (metadata.deletionTimestamp !== undefined) return undefined;
  const isAnnotated = metadata.annotations?.[UNRESOLVED_ANNOTATION] !== undefined;
  const ready = findCondition(status?.conditions, "Ready");
  const isExpired = ready?.reason === "SandboxExpired" || Date.parse(lifetimeOf(sandbox).shutdownTime ?? "") <= now;
  if (isExpired) {
    const isCalling = isAnnotated || refusal !== undefined;
    return isCalling ? { key: `leftover ${metadata.generation} ${refusal ?? ""}`, kind: "leftover" } : undefined;
  }
  const suspended = findCondition(status?.conditions, "Suspended");
  const isCalling = spec.operatingMode === "Suspended"
    ? suspended?.status === "True"
    // The hook makes no Pod before it is known what became of another one.
    : ready?.status !== "True" && (hasOtherPod(sandbox) || ready !== undefined && mayLack(sandbox, ready.message));
  if (!isAnnotated && !isCalling && refusal === undefined) return undefined;
  const key = `${metadata.generation} ${spec.operatingMode} ${ready?.status} ${suspended?.status} ${refusal ?? ""}`;
  return { key, kind: "look" };
}

function mayLack({ spec }: Sandbox, message: string): boolean {
  return (spec.volumeClaimTemplates ?? []).length > 0 || message.includes("does not exist");
}

function outcomeOf({ spec }: Sandbox, findings: Finding[]): Outcome {
  if (findings.some(({ problem }) => problem)) return "problem";
  if (spec.operatingMode === "Suspended") return "nothing";
  return findings.every(({ isOurs }) => isOurs) ? "whole" : "coming";
}

/** Children of one Sandbox that are looked at at once: each is one request that is open. */
const AT_ONCE = 8;

/** So many volumes that are refused say enough: others are not looked at. */
const MOST_REFUSED = 3;

async function findingsOf(sandbox: Sandbox, options: ChildrenReconcilerOptions): Promise<Finding[]> {
  let refused = 0;
  const leaving = await leavingChildren(sandbox, sandbox.spec.service === false ? ["Service"] : [], options);
  const findings = await fewAtATime(wantedChildren(sandbox), AT_ONCE, async (child) => {
    if (child.kind === "PersistentVolumeClaim" && refused >= MOST_REFUSED) return { isOurs: false };
    const found = await findChild(options.api, sandbox, child);
    const finding = await findingOf(sandbox, { ...child, found }, options);
    if (isRefusedVolume(finding.problem)) refused++;
    return finding;
  });
  return [...findings, ...leaving];
}

/** Of volumes that are refused those that come first, whichever was answered first: another list would be another annotation. */
function wordsOf(findings: Finding[]): Problem[] {
  const problems = findings.flatMap(({ problem }) => problem ?? []);
  const unsaid = new Set(problems.filter(isRefusedVolume).slice(MOST_REFUSED));
  return problems.filter((problem) => !unsaid.has(problem));
}

function isRefusedVolume(problem: Problem | undefined): boolean {
  return problem?.kind === "PersistentVolumeClaim" && problem.state !== "taken";
}

async function findingOf(sandbox: Sandbox, child: Child, options: ChildrenReconcilerOptions): Promise<Finding> {
  const verdict = diagnose(sandbox, child);
  switch (verdict.verdict) {
    case "ours":
      return child.found ? await stuckOrOurs(sandbox, child.found, options) : { isOurs: true };
    case "pending":
      return { isOurs: false };
    case "problem":
      return { problem: verdict.problem, isOurs: false };
    case "forget":
      await forgetPod(sandbox, options);
      return { isOurs: false };
    case "missing":
      return { problem: await absenceOf(sandbox, child, options), isOurs: false };
    case "adopt": {
      const { api, report } = options;
      const isOffered = await offerForAdoption(api, sandbox, verdict.object);
      if (isOffered) report("adopted", sandbox.metadata, { kind: child.kind, child: child.name });
      return { isOurs: false };
    }
  }
}

/** The Sandbox gets a Pod of its own name then. */
async function forgetPod({ metadata }: Sandbox, { api, report }: ChildrenReconcilerOptions): Promise<void> {
  const target = { kind: "Sandbox", resource: "sandboxes", metadata } as const;
  const change = { annotations: { [POD_NAME_ANNOTATION]: null } };
  const isGone = await sendPatch(api, target, patchOf(metadata, change));
  if (isGone) report("annotation removed", metadata, { annotation: POD_NAME_ANNOTATION });
}

/** A child that does not exist: undefined if nothing stands in its way. */
async function absenceOf(
  sandbox: Sandbox,
  child: Child,
  { api, log }: ChildrenReconcilerOptions,
): Promise<Problem | undefined> {
  if (sandbox.spec.operatingMode === "Suspended") return undefined;
  const answer = await tryToCreate(api, sandbox, child);
  const verdict = dryRunVerdict(child, answer);
  if (verdict === "fine") return undefined;
  if (verdict !== "unknown") return verdict;
  const { namespace, name } = sandbox.metadata;
  log("warn", "Dry run without an answer", { namespace, name, kind: child.kind, error: messageOf(answer) });
  const before = readUnresolved(sandbox.metadata)?.problems ?? [];
  return before.find(({ kind, name, state }) => kind === child.kind && name === child.name && state !== "taken");
}

/**
 * Labels an object as the Sandbox's, so that Metacontroller adopts it.
 *
 * @returns false if it has changed or gone meanwhile: look again
 */
async function offerForAdoption(api: Api, { metadata: { uid } }: Sandbox, object: KubeObject): Promise<boolean> {
  const { kind, metadata } = object;
  const target = { kind, resource: RESOURCES[kind as Child["kind"]], metadata };
  return await sendPatch(api, target, patchOf(metadata, { labels: { [CONTROLLER_UID_LABEL]: uid } }));
}

/** Asks what would become of the child if Metacontroller created it now. Creates nothing. */
async function tryToCreate(api: Api, { metadata }: Sandbox, { kind, desired }: Child): Promise<Answer> {
  const labels = { ...desired.metadata.labels, [CONTROLLER_UID_LABEL]: metadata.uid ?? "" };
  const path = pathOf({ resource: RESOURCES[kind], namespace: metadata.namespace });
  const body = applyCreate({ ...desired, metadata: { ...desired.metadata, labels } });
  return await api.send({ method: "POST", path, query: DRY_RUN, body });
}

/**
 * Does `work` on each item, on no more than `most` at once, and returns the results in order.
 *
 * @throws what the first failure throws; what has begun goes on, and nothing else begins
 */
export async function fewAtATime<T, R>(items: T[], most: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const open = entriesOf(items);
  const worker = async () => {
    for (const [index, item] of open) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: most }, worker));
  return results;
}

/** A generator, not the array's own iterator: whoever leaves a loop over it by an exception ends it for all. */
function* entriesOf<T>(items: T[]): Generator<[number, T]> {
  yield* items.entries();
}
