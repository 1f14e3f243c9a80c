/**
 * Prepares a request for the Sandbox hook: sorts the children by role, and finds those that the API server would
 * refuse. @module
 */
import { MOST_VOLUMES } from "../../packages/api/blueprint.ts";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { type Problem, readUnresolved } from "../../packages/api/keeperreports.ts";
import { listKind, type Observed } from "../../packages/webhook/metacontroller.ts";
import { isDNSLabel, isDNSSubdomain } from "../../packages/api/objects/names.ts";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { kubeObjectSchema } from "../../packages/api/objects/schemas.ts";
import { type Pod, podSchema } from "../../packages/api/objects/pods.ts";
import { claimTemplates, pvcName, volumeName } from "./pvcs.ts";

/** The observed objects of one Sandbox. */
export interface View {
  sandbox: Sandbox;
  /** The Sandbox's own Pod; undefined: it has none, or several. */
  pod: Pod | undefined;
  /** All Pods that the Sandbox owns. Several Pods are a fault that a person has to correct. */
  pods: Pod[];
  /** The Service with the Sandbox's name; undefined: the Sandbox owns no such Service. */
  service: KubeObject | undefined;
  pvcs: KubeObject[];
  /** Other children that the Sandbox owns. The answer keeps them unchanged. */
  others: KubeObject[];
  /** Known problems of children, in this order: PersistentVolumeClaims, Pod, Service. */
  problems: Problem[];
  /** The children, as `kind/name`, whose content the API server would refuse. */
  invalid: ReadonlySet<string>;
  /**
   * The Sandbox asks for more volumes than it may have, and one of them does not exist. No missing volume is then
   * created.
   */
  hasTooManyVolumes: boolean;
}

/**
 * Sorts the observed children of a Sandbox. @throws {RangeError} if the controller lacks one of the three child rules
 */
export function viewOf(observed: Observed<Sandbox>): View {
  const sandbox = observed.parent;
  const pods = listKind(observed.children, "Pod.v1", podSchema);
  const services = listKind(observed.children, "Service.v1", kubeObjectSchema);
  const pvcs = listKind(observed.children, "PersistentVolumeClaim.v1", kubeObjectSchema);
  const service = services.find(({ metadata }) => metadata.name === sandbox.metadata.name);
  const exists = new Set([...pods, ...pvcs, ...services].map(({ kind, metadata: { name } }) => keyOf({ kind, name })));
  const tooMany = tooManyVolumes(sandbox, exists);
  const problems = openProblems(sandbox, tooMany, exists);
  return {
    sandbox,
    pod: pods.length === 1 ? pods[0] : undefined,
    pods,
    service,
    pvcs,
    others: services.filter((other) => other !== service),
    problems,
    invalid: new Set(problems.filter(({ state }) => state === "invalid").map(keyOf)),
    hasTooManyVolumes: tooMany.length > 0,
  };
}

/** Tells whether a Pod that does not belong to the Sandbox has the Pod's name. */
export function isPodTaken(view: View): boolean {
  return view.problems.some(({ kind, state }) => kind === "Pod" && state === "taken");
}

/** Returns why the API server refuses to change or delete the Pod; undefined: the keeper has reported no such refusal. */
export function stuckPod({ pod, problems }: View): string | undefined {
  if (pod?.metadata.deletionTimestamp !== undefined) return undefined;
  return problems.find(({ kind, state }) => kind === "Pod" && state === "stuck")?.message;
}

/**
 * Tells whether a missing child can be created only after a change of the spec. The answer then does not ask for it.
 */
export function isInvalid(view: View, kind: string, name: string): boolean {
  return (kind === "PersistentVolumeClaim" && view.hasTooManyVolumes) || view.invalid.has(keyOf({ kind, name }));
}

/**
 * Returns the problems that the hook foresees and those that the keeper has reported, except those that are out of
 * date.
 */
function openProblems(sandbox: Sandbox, tooMany: Problem[], exists: ReadonlySet<string>): Problem[] {
  const unresolved = readUnresolved(sandbox.metadata);
  const current = unresolved?.generation === sandbox.metadata.generation;
  const found = unresolved?.problems.filter(({ state }) => current || state === "taken" || state === "stuck") ?? [];
  const foreseen = tooMany.length > 0 ? [...tooMany, ...invalidServices(sandbox)] : invalidChildren(sandbox);
  const isForeseen = new Set(foreseen.map(keyOf));
  // All missing volumes wait for a lower number of volumes, so the problems of single volumes do not count.
  const isOvertaken = ({ kind }: Problem) => kind === "PersistentVolumeClaim" && tooMany.length > 0;
  const news = found.filter((problem) => !isForeseen.has(keyOf(problem)) && !isOvertaken(problem));
  // A problem "stuck" is about a child that exists. All other problems are about missing children.
  return inOrder([...foreseen, ...news]).filter((problem) =>
    exists.has(keyOf(problem)) === (problem.state === "stuck")
  );
}

function keyOf({ kind, name }: { kind: string; name: string }): string {
  return `${kind}/${name}`;
}

const ORDER: Problem["kind"][] = ["PersistentVolumeClaim", "Pod", "Service"];

function inOrder(problems: Problem[]): Problem[] {
  return problems.toSorted((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
}

/**
 * Lists the children that can never be created from this spec, each with the API server's reason.
 *
 * | child | refused because |
 * |---|---|
 * | PersistentVolumeClaim | its name is not a DNS subdomain |
 * | Pod | the name of a volume (of a volume claim template) is not a DNS label |
 * | Service | the spec asks for it, and the Sandbox's name is not a DNS label: it is too long or contains dots |
 *
 * Other faults of a Pod's spec are found by the keeper, which asks the API server.
 */
function invalidChildren(sandbox: Sandbox): Problem[] {
  const { name } = sandbox.metadata;
  const templates = claimTemplates(sandbox);
  const pvcs = templates.map((template) => pvcName(template, sandbox)).filter((pvc) => !isDNSSubdomain(pvc));
  const volume = templates.map(volumeName).find((candidate) => !isDNSLabel(candidate));
  return [
    ...pvcs.map((pvc) => invalid("PersistentVolumeClaim", pvc, "metadata.name", pvc, SUBDOMAIN)),
    ...(volume === undefined ? [] : [invalid("Pod", name, "spec.volumes.name", volume, LABEL)]),
    ...invalidServices(sandbox),
  ];
}

/**
 * Lists the problems of a Sandbox that asks for more than {@link MOST_VOLUMES} volumes: one for the first missing
 * volume, and one for the Pod. Every volume would be a request, and a CRD that is not hookbox's own may allow tens of
 * thousands. If all volumes exist, there is no problem.
 */
function tooManyVolumes(sandbox: Sandbox, exists: ReadonlySet<string>): Problem[] {
  const templates = claimTemplates(sandbox);
  if (templates.length <= MOST_VOLUMES) return [];
  const missing = templates.map((template) => pvcName(template, sandbox))
    .find((name) => !exists.has(keyOf({ kind: "PersistentVolumeClaim", name })));
  if (missing === undefined) return [];
  const why = `Too many: ${templates.length}: must have at most ${MOST_VOLUMES} items`;
  return [
    refusal("PersistentVolumeClaim", missing, `spec.volumeClaimTemplates: ${why}`),
    refusal("Pod", sandbox.metadata.name, `spec.volumes: ${why}`),
  ];
}

const SUBDOMAIN = "must be a lowercase RFC 1123 subdomain of no more than 253 characters";
const LABEL = "must be a lowercase RFC 1123 label of no more than 63 characters";

function invalidServices({ metadata: { name }, spec }: Sandbox): Problem[] {
  if (spec.service !== true || isDNSLabel(name)) return [];
  const rule = name.length > 63 ? "must be no more than 63 characters" : "must not contain dots";
  return [invalid("Service", name, "metadata.name", name, rule)];
}

function invalid(kind: Problem["kind"], name: string, field: string, value: string, rule: string): Problem {
  return refusal(kind, name, `${field}: Invalid value: "${value}": ${rule}`);
}

/** Returns a problem with a message like that of the API server. */
function refusal(kind: Problem["kind"], name: string, why: string): Problem {
  return { kind, name, state: "invalid", message: `${kind} "${name}" is invalid: ${why}` };
}
