/**
 * Finds out why children of a Sandbox are not created: has Metacontroller adopt an existing object, or reports the
 * reason in an annotation.
 * @module
 */
import { buildPod } from "../../hooks/sandbox/pod.ts";
import { buildPVCs } from "../../hooks/sandbox/pvcs.ts";
import { buildService } from "../../hooks/sandbox/service.ts";
import { MOST_VOLUMES } from "../api/blueprint.ts";
import { lifetimeOf } from "../api/expiry.ts";
import { type Problem, readUnresolved } from "../api/keeperreports.ts";
import { applyCreate } from "../api/objects/apply.ts";
import { findCondition } from "../api/objects/conditions.ts";
import { CONTROLLER_UID_LABEL, POD_NAME_ANNOTATION, UNRESOLVED_ANNOTATION } from "../api/objects/keys.ts";
import { hasOtherPod, podNameOf } from "../api/objects/names.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import type { Sandbox } from "../api/sandbox.ts";
import { type Answer, type Api, messageOf, pathOf } from "../kube/api.ts";
import type { Reconciler } from "../kube/reconcilequeue.ts";
import { patchOf, sendPatch } from "../kube/requests.ts";
import {
  type Child,
  type ChildKind,
  type ChildrenReconcilerOptions,
  findChild,
  type Finding,
  publishProblems,
  RESOURCES,
} from "./child.ts";
import { diagnose, DRY_RUN, dryRunVerdict } from "./diagnose.ts";
import { INTERVALS, lookReconciler, type Outcome, type Situation } from "./reconciler.ts";
import { leavingChildren, stuckOrOurs } from "./stuckchildren.ts";

/**
 * Lists the children to check, in the order PersistentVolumeClaims, Pod, Service. The hook's functions build them, so
 * they are what Metacontroller would create. If a Sandbox has more volumes than allowed, the hook creates none, and
 * only the first ones are checked.
 *
 * For a suspended Sandbox, only the Pod is checked: it should not exist, but another object with its name should be
 * reported.
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

/** Creates the reconciler. It sends no request for a Sandbox that is Ready and has no annotation. */
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
 * Returns the reason to check the children of a Sandbox; undefined: there is none.
 *
 * | mode | Ready | Suspended | annotation | situation |
 * |---|---|---|---|---|
 * | (being deleted) | | | any | none |
 * | (expired) | | | present, or a write of a child was refused | leftover |
 * | any | any | any | present | look |
 * | any | any | any | absent, but a write of a child was refused | look |
 * | Running | False: something does not exist | any | absent | look |
 * | Running | not True, with volume claim templates | any | absent | look |
 * | Running | not True, and an annotation names a Pod with a name other than the Sandbox's | any | absent | look |
 * | Suspended | any | True | absent | look |
 * | otherwise | | | absent | none |
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
    // The hook creates no Pod before it knows what happened to the other one.
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

/** Children of one Sandbox that are checked at the same time, each by one open request. */
const AT_ONCE = 8;

/** After this many refused volumes, no further volumes are checked. */
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

/**
 * Returns the problems to report. Of refused volumes, it keeps the first in the order of the spec, not of the answers:
 * a different choice would change the annotation each time.
 */
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

/** Removes the annotation that names another Pod. The Sandbox then gets a Pod with its own name. */
async function forgetPod({ metadata }: Sandbox, { api, report }: ChildrenReconcilerOptions): Promise<void> {
  const target = { kind: "Sandbox", resource: "sandboxes", metadata } as const;
  const change = { annotations: { [POD_NAME_ANNOTATION]: null } };
  const isGone = await sendPatch(api, target, patchOf(metadata, change));
  if (isGone) report("annotation removed", metadata, { annotation: POD_NAME_ANNOTATION });
}

/** Returns why a child does not exist; undefined if nothing prevents its creation. */
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
 * Labels an object with the UID of the Sandbox, so that Metacontroller adopts it.
 *
 * @returns false if the object has changed or is gone; then check again
 */
async function offerForAdoption(api: Api, { metadata: { uid } }: Sandbox, object: KubeObject): Promise<boolean> {
  const { kind, metadata } = object;
  const target = { kind, resource: RESOURCES[kind as Child["kind"]], metadata };
  return await sendPatch(api, target, patchOf(metadata, { labels: { [CONTROLLER_UID_LABEL]: uid } }));
}

/** Sends a dry run of the creation of the child, as Metacontroller would create it now. */
async function tryToCreate(api: Api, { metadata }: Sandbox, { kind, desired }: Child): Promise<Answer> {
  const labels = { ...desired.metadata.labels, [CONTROLLER_UID_LABEL]: metadata.uid ?? "" };
  const path = pathOf({ resource: RESOURCES[kind], namespace: metadata.namespace });
  const body = applyCreate({ ...desired, metadata: { ...desired.metadata, labels } });
  return await api.send({ method: "POST", path, query: DRY_RUN, body });
}

/**
 * Calls `work` for each item, at most `most` at the same time, and returns the results in order.
 *
 * @throws the error of the first failure; calls that have begun continue, and no further call begins
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

/** A generator, not the array's own iterator: if one loop over a generator ends with an exception, it ends for all. */
function* entriesOf<T>(items: T[]): Generator<[number, T]> {
  yield* items.entries();
}
