/**
 * Finds children of a Sandbox that the API server refuses, or that belong to somebody else. It uses the API server's
 * messages. @module
 */
import { apiServersWords } from "../../claims/problem.ts";
import { lackedRight, quotedError, readRefusal, type Refusal } from "../messages.ts";
import { readUnresolved } from "../../keeperreports.ts";
import { findCondition } from "../../objects/conditions.ts";
import { NAME_HASH_LABEL } from "../../objects/keys.ts";
import { withLimit } from "../../objects/size.ts";
import { controllerOf, type ObjectMeta, specChanged } from "../../objects/objects.ts";
import type { QuotaFact } from "../facts.ts";
import { type Cause, cause, type Evidence, named, type ObjectRef } from "../finding.ts";
import { conditionEvidence, eventEvidence, eventsOf, refOf, type Scene, timeOf } from "../scene.ts";
import { type EditedScene, remedyOf } from "../remedy.ts";

/** A child is refused, according to the keeper's annotation, the Ready condition, or Metacontroller's last Event. */
export function refused(scene: Scene): Cause | undefined {
  const told = tellings(scene).find(({ text }) => readRefusal(text, scene.at.namespace) !== undefined);
  const text = told?.text ?? "";
  const refusal = readRefusal(text, scene.at.namespace);
  if (told && refusal) return refusalCause(scene, refusal, told);
  const ready = findCondition(scene.sandbox.status?.conditions, "Ready");
  if (ready?.reason === "InvalidConfiguration") {
    return refusalCause(scene, { code: "InvalidConfiguration" }, readyTelling(scene.at, ready));
  }
  if (ready?.reason !== "ReconcilerError") return undefined;
  return refusalCause(scene, { code: "ChildRefused" }, readyTelling(scene.at, ready));
}

/** A child exists, but the API server refuses to change or delete it. The keeper has reported this in an annotation of the parent. */
export function stuck(scene: EditedScene, parent: ObjectMeta): Cause | undefined {
  const problem = readUnresolved(parent)?.problems.find(({ state }) => state === "stuck");
  if (!problem) return undefined;
  const text = problem.message;
  const evidence = { object: scene.at, where: "metadata.annotations[agents.x-k8s.io/unresolved]", text };
  return refusalCause(scene, readRefusal(text, scene.at.namespace) ?? { code: "ChildRefused" }, { text, evidence });
}

interface Telling {
  text: string;
  evidence: Evidence;
  since?: string | undefined;
}

type Ready = Parameters<typeof conditionEvidence>[1];

function readyTelling(at: ObjectRef, ready: Ready): Telling {
  return {
    text: apiServersWords(ready.message),
    evidence: conditionEvidence(at, ready),
    since: ready.lastTransitionTime,
  };
}

/** Lists the reports of refusals, the most reliable first. */
function tellings({ sandbox, at, facts, pod }: Scene): Telling[] {
  const { metadata, status } = sandbox;
  const unresolved = readUnresolved(metadata);
  const isCurrent = unresolved?.generation === metadata.generation;
  const ready = findCondition(status?.conditions, "Ready");
  const isError = ready?.reason === "ReconcilerError" || ready?.reason === "InvalidConfiguration";
  const problems = (unresolved?.problems ?? []).filter(({ state }) => isCurrent || state === "taken");
  const where = "metadata.annotations[agents.x-k8s.io/unresolved]";
  const [event] = eventsOf(facts, at, metadata.uid).filter(({ reason }) => reason === "SyncError");
  // A refusal of an older spec, or from before the Pod was created, is over.
  const since = pod ? pod.metadata.creationTimestamp : specChanged(metadata);
  const isNews = event && timeOf(event.last) >= timeOf(since);
  return [
    ...problems.map(({ message }) => ({
      text: message,
      evidence: { object: at, where, text: message },
      since: isError ? ready.lastTransitionTime : undefined,
    })),
    ...(ready && isError ? [readyTelling(at, ready)] : []),
    ...(event && isNews ? [{ text: event.message, evidence: eventEvidence(event), since: event.first }] : []),
  ];
}

/** Metacontroller's last Event about an object reports that the API server refuses a child of the object. */
export function creationRefused(
  scene: EditedScene,
  uid: string | undefined,
  newerThan: string | undefined,
): Cause | undefined {
  const [event] = eventsOf(scene.facts, scene.at, uid).filter(({ reason }) => reason === "SyncError");
  const refusal = event && readRefusal(event.message, scene.at.namespace);
  if (!refusal || timeOf(event.last) < timeOf(newerThan)) return undefined;
  return refusalCause(scene, refusal, { text: event.message, evidence: eventEvidence(event), since: event.first });
}

/**
 * The API server refuses a write for a claim, as a condition of the claim or an annotation of its Sandbox reports;
 * undefined: the reason is unknown.
 */
export function refusalIn(scene: EditedScene, telling: Telling): Cause | undefined {
  const text = apiServersWords(telling.text);
  const refusal = readRefusal(text, scene.at.namespace);
  return refusal && refusalCause(scene, refusal, { ...telling, text });
}

function refusalCause(scene: EditedScene, { code, object }: Refusal, { text, evidence, since }: Telling): Cause {
  const { at } = scene;
  const culprit = code === "NameTaken" ? takenRef(at, text) : object ?? at;
  const words = withLimit(quotedError(text));
  const quota = code === "QuotaExceeded" ? quotaEvidence(culprit, scene.facts.quotas) : [];
  const summaries: Partial<Record<typeof code, string>> = {
    QuotaExceeded: `${named(culprit)} leaves no room: ${figures(words)}.`,
    QuotaNeedsResources: `${named(culprit)} wants the containers to state requests or limits, and they do not.`,
    PodSecurityViolation: `The Pod Security level of namespace "${at.namespace}" forbids the Pod: ${
      after(words, "violates ")
    }.`,
    AdmissionPolicyDenied: `${named(culprit)} forbids it: ${after(words, "denied request: ")}.`,
    ServiceAccountNotFound: `${named(culprit)}, which the Pod is to run as, does not exist.`,
    RuntimeClassNotFound: `${named(culprit)}, which the Pod asks for, does not exist.`,
    PriorityClassNotFound: `${named(culprit)}, which the Pod asks for, does not exist.`,
    NamespaceTerminating: `Namespace "${at.namespace}" is being deleted.`,
    NameTaken: `${named(culprit)} exists and is not this Sandbox's.`,
    ...code === "ControllerForbidden" ? forbiddenSummary(words) : {},
  };
  return cause(code, {
    object: culprit,
    summary: summaries[code] ?? `The API server refuses a child of ${named(at)}: ${words}`,
    evidence: [evidence, ...quota],
    since,
    ...remedyOf(scene, code, culprit, words),
    ...(code === "NameTaken" && isGoing(scene, culprit, words) ? GOING : {}),
  });
}

function forbiddenSummary(words: string): { ControllerForbidden?: string } {
  const lacked = lackedRight(words);
  return lacked ? { ControllerForbidden: `hookbox's account ${lacked.account} may not ${lacked.right}.` } : {};
}

/** Returns the object that a message is about: `pod "x"`, `PVC "x"` or `service "x"`. */
function takenRef(at: ObjectRef, text: string): ObjectRef {
  const [, noun = "pod", name = at.name] = /\b(pod|service|PVC) "([^"]+)"/.exec(text) ?? [];
  const kinds: Record<string, string> = { pod: "Pod", service: "Service", PVC: "PersistentVolumeClaim" };
  return { ...at, kind: kinds[noun] ?? "Pod", name };
}

/** A Pod with the Sandbox's name belongs to another owner. This rule finds it before the keeper has reported it. */
export function podTaken(scene: Scene): Cause | undefined {
  const { sandbox, facts: { pod } } = scene;
  if (!pod || pod.metadata.deletionTimestamp !== undefined) return undefined;
  const owner = controllerOf(pod.metadata);
  if (owner?.uid === sandbox.metadata.uid || (!owner && pod.metadata.labels?.[NAME_HASH_LABEL] !== undefined)) {
    return undefined;
  }
  const object = refOf("Pod", pod.metadata);
  const whose = owner ? `${owner.kind} "${owner.name}" controls it` : "nobody controls it";
  return cause("NameTaken", {
    object,
    summary: `${named(object)} exists and is not this Sandbox's: ${whose}.`,
    evidence: [{ object, where: "metadata.ownerReferences", text: whose }],
    since: pod.metadata.creationTimestamp,
    ...remedyOf(scene, "NameTaken", object, ""),
    ...(owner?.kind === "Sandbox" && owner.name === scene.at.name ? GOING : {}),
  });
}

/** An object that is being deleted frees the name without help. */
const GOING = { hopeless: false, remedy: "Wait until it is gone: it is being deleted, or was left by an earlier one." };

/**
 * Tells whether the object is being deleted, or belonged to an earlier Sandbox of the same name and will be deleted
 * with it.
 */
function isGoing({ at, facts: { pod } }: EditedScene, culprit: ObjectRef, words: string): boolean {
  const isDeleted = culprit.kind === "Pod" && pod?.metadata.deletionTimestamp !== undefined;
  return isDeleted || words.includes(`is owned by Sandbox/${at.name} (`);
}

function quotaEvidence(quota: ObjectRef, quotas: QuotaFact[] = []): Evidence[] {
  const found = quotas.find(({ metadata }) => metadata.name === quota.name);
  const { hard = {}, used = {} } = found?.status ?? {};
  const text = Object.keys(hard).map((key) => `${key}: ${used[key] ?? "0"} of ${hard[key]}`).join(", ");
  return text === "" ? [] : [{ object: quota, where: "status.used", text }];
}

function figures(text: string): string {
  return /requested: .*/.exec(text)?.[0] ?? text;
}

function after(text: string, mark: string): string {
  const index = text.indexOf(mark);
  return (index < 0 ? text : text.slice(index + mark.length)).replace(/\.$/, "");
}
