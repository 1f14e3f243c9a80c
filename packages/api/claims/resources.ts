/**
 * CPU and memory that a claim asks for: what its template allows, and what the container then has. The first container
 * gets them, with the quality of service class that the template gives its Pod: a resize cannot change it. @module
 */
import type { V1Container, V1PodSpec, V1ResourceRequirements } from "@kubernetes/client-node";
import type { Verdict } from "../objects/conditions.ts";
import {
  CLAIM_RESOURCES_ANNOTATION,
  NOT_RESIZED_ANNOTATION,
  RESIZED_ANNOTATION,
  RESOURCES_ANNOTATION,
} from "../objects/keys.ts";
import { quantity } from "../objects/quantity.ts";
import type { Sandbox } from "../sandbox.ts";
import type { SandboxClaim } from "../sandboxclaim.ts";
import type { SandboxTemplate } from "../sandboxtemplate.ts";
import type { ClaimProblem } from "./problem.ts";

/** The resources that a running container can get more or less of. */
const RESOURCES = ["cpu", "memory"] as const;
type Resource = (typeof RESOURCES)[number];

/** CPU in thousandths of a core, memory in bytes; both are positive integers. At least one is set. */
export type Amounts = Partial<Record<Resource, number>>;

/** Stricter than Kubernetes: no sign, no exponent, and few digits. */
const PATTERNS: Record<Resource, RegExp> = {
  cpu: /^(\d{1,6}(\.\d{1,3})?|\d{1,9}m)$/,
  memory: /^(\d{1,15}|\d{1,6}(\.\d{1,3})?(Ki|Mi|Gi|Ti|k|M|G|T))$/,
};
/** Longest annotation that is read; the longest sensible one has about 60 characters. */
const LONGEST = 200;

/** Returns what the claim asks for, as it is written; undefined: nothing. */
export function resourcesText({ metadata }: Pick<SandboxClaim, "metadata">): string | undefined {
  return metadata.annotations?.[RESOURCES_ANNOTATION];
}

/**
 * Returns the amounts that a claim asks for; undefined: none.
 *
 * @throws {SyntaxError} if the annotation is invalid, which {@link resourcesProblem} reports
 */
export function claimAmounts(claim: Pick<SandboxClaim, "metadata">): Amounts | undefined {
  const text = resourcesText(claim);
  return text === undefined ? undefined : readList(RESOURCES_ANNOTATION, text, "AMOUNT", readAmount);
}

/** Returns why a claim may not have the resources that it asks for; undefined: it may, or it asks for none. */
export function resourcesProblem(
  claim: Pick<SandboxClaim, "metadata">,
  template: Pick<SandboxTemplate, "metadata">,
): ClaimProblem | undefined {
  if (resourcesText(claim) === undefined) return undefined;
  const message = faultOf(claim, template);
  return message === undefined ? undefined : { reason: "InvalidConfiguration", message };
}

function faultOf(claim: Pick<SandboxClaim, "metadata">, { metadata }: Pick<SandboxTemplate, "metadata">) {
  const allowed = metadata.annotations?.[CLAIM_RESOURCES_ANNOTATION];
  const whose = `SandboxTemplate "${metadata.name}"`;
  if (allowed === undefined) return `${whose} does not let claims set their resources`;
  try {
    const amounts = claimAmounts(claim) ?? {};
    const bounds = readList(CLAIM_RESOURCES_ANNOTATION, allowed, "LEAST..MOST", readBounds);
    for (const resource of RESOURCES) {
      const [amount, bound] = [amounts[resource], bounds[resource]];
      if (amount === undefined) continue;
      if (!bound) return `${whose} does not let claims set their ${resource}`;
      if (amount >= bound.least && amount <= bound.most) continue;
      const [own, least, most] = [amount, bound.least, bound.most].map((one) => amountText(resource, one));
      return `${whose} allows ${resource} from ${least} to ${most}; the claim asks for ${own}`;
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return error.message;
  }
}

function readList<Value>(
  annotation: string,
  text: string,
  form: string,
  read: (resource: Resource, text: string) => Value | undefined,
): Partial<Record<Resource, Value>> {
  if (text.length > LONGEST) throw new SyntaxError(`annotation ${annotation} has more than ${LONGEST} characters`);
  const found: Partial<Record<Resource, Value>> = {};
  for (const entry of text.split(",")) {
    const [name, ...rest] = entry.split("=");
    const resource = RESOURCES.find((one) => one === name);
    const value = resource && read(resource, rest.join("="));
    if (resource === undefined || value === undefined) {
      throw new SyntaxError(`annotation ${annotation}: "${entry}" is neither cpu=${form} nor memory=${form}`);
    }
    if (found[resource] !== undefined) throw new SyntaxError(`annotation ${annotation} lists ${resource} twice`);
    found[resource] = value;
  }
  return found;
}

function readAmount(resource: Resource, text: string): number | undefined {
  if (!PATTERNS[resource].test(text)) return undefined;
  const amount = amountOf(resource, text);
  return amount > 0 && Number.isSafeInteger(amount) ? amount : undefined;
}

function readBounds(resource: Resource, text: string): { least: number; most: number } | undefined {
  const [first = "", second = "", ...more] = text.split("..");
  const [least, most] = [readAmount(resource, first), readAmount(resource, second)];
  return least === undefined || most === undefined || more.length > 0 ? undefined : { least, most };
}

/** Returns a quantity in thousandths of a core, or in bytes; NaN: it is not valid. */
function amountOf(resource: Resource, text: string): number {
  return resource === "cpu" ? Math.round(1000 * quantity(text)) : Math.round(quantity(text));
}

/** Writes an amount as a quantity, with the largest suffix that needs no fraction. */
function amountText(resource: Resource, amount: number): string {
  if (resource === "cpu") return amount % 1000 === 0 ? `${amount / 1000}` : `${amount}m`;
  const powers: [string, number][] = [["Gi", 1024 ** 3], ["Mi", 1024 ** 2], ["Ki", 1024]];
  const [suffix, unit] = powers.find(([, one]) => amount % one === 0) ?? ["", 1];
  return `${amount / unit}${suffix}`;
}

/**
 * Returns the Pod spec with these amounts in its first container.
 *
 * | the container has of the resource | then it has |
 * |---|---|
 * | a limit | the amount as its limit, and a request that is the same part of the limit as before |
 * | only a limit | the amount as both, because Kubernetes takes the limit as the request |
 * | only a request, or neither | the amount as its request |
 */
export function withAmounts(podSpec: V1PodSpec, amounts: Amounts): V1PodSpec {
  const [first, ...others] = podSpec.containers;
  return first ? { ...podSpec, containers: [resized(first, amounts), ...others] } : podSpec;
}

function resized(container: V1Container, amounts: Amounts): V1Container {
  const { requests = {}, limits = {}, ...rest } = container.resources ?? {};
  const [ownRequests, ownLimits] = [{ ...requests }, { ...limits }];
  for (const resource of RESOURCES) {
    const amount = amounts[resource];
    if (amount === undefined) continue;
    const [request, limit] = [requests[resource], limits[resource]];
    if (limit !== undefined) ownLimits[resource] = amountText(resource, amount);
    const part = limit === undefined || request === undefined
      ? 1
      : amountOf(resource, `${request}`) / amountOf(resource, `${limit}`);
    ownRequests[resource] = amountText(resource, requested(amount, part));
  }
  const hasLimits = Object.keys(ownLimits).length > 0;
  return { ...container, resources: { ...rest, requests: ownRequests, ...(hasLimits ? { limits: ownLimits } : {}) } };
}

function requested(amount: number, part: number): number {
  if (part === 0) return 0;
  // A part that is no number comes from a template that the API server refuses.
  return part > 0 && part < 1 ? Math.max(1, Math.min(amount - 1, Math.round(amount * part))) : amount;
}

/** Tells whether the first container would start again if a running Pod got these amounts. */
export function restartsFor({ containers: [first] }: V1PodSpec, amounts: Amounts): boolean {
  return (first?.resizePolicy ?? []).some(({ resourceName, restartPolicy }) =>
    restartPolicy === "RestartContainer" && RESOURCES.some((one) => one === resourceName && amounts[one] !== undefined)
  );
}

/** CPU and memory of a container, for a change of a running Pod. */
export interface ContainerResources {
  name: string;
  resources: Pick<V1ResourceRequirements, "requests" | "limits">;
}

/** Returns CPU and memory of the first container, without other resources. */
export function firstResources({ containers: [first] }: V1PodSpec): ContainerResources {
  const { requests, limits } = first?.resources ?? {};
  const picked = (map: Record<string, string> | undefined) =>
    Object.fromEntries(RESOURCES.flatMap((one) => map?.[one] === undefined ? [] : [[one, map[one]]]));
  return {
    name: first?.name ?? "",
    resources: { ...(requests ? { requests: picked(requests) } : {}), ...(limits ? { limits: picked(limits) } : {}) },
  };
}

/** Describes the resources for people, as `cpu=2, memory=4Gi`: the limit of each, or the request if there is no limit. */
export function describeResources({ resources: { requests, limits } }: ContainerResources): string {
  return RESOURCES.flatMap((one) => {
    const amount = limits?.[one] ?? requests?.[one];
    return amount === undefined ? [] : [`${one}=${amount}`];
  }).join(", ");
}

/** Runtimes round CPU shares and report what they have rounded. */
const TOLERANCE = 0.02;

/**
 * Tells whether a container has the resources that it should have.
 *
 * @param actual `resources` of the container's status; undefined: its kubelet reports none
 */
export function hasResources(
  actual: ContainerResources["resources"] | undefined,
  { resources }: ContainerResources,
): boolean {
  return (["requests", "limits"] as const).every((kind) =>
    RESOURCES.every((one) => {
      const wanted = resources[kind]?.[one];
      if (wanted === undefined) return true;
      const [is, should] = [quantity(`${actual?.[kind]?.[one]}`), quantity(`${wanted}`)];
      return Math.abs(is - should) <= TOLERANCE * should;
    })
  );
}

/** Type of a claim's condition. The binder writes it when it binds the claim, and the claim's hook keeps it. */
export const RESIZED_CONDITION = "ResizedInPlace";

/** Returns the condition which shows how a claim's Sandbox got its resources; undefined: the claim asked for none. */
export function resizedVerdict({ metadata: { annotations = {} }, spec }: Sandbox): Verdict | undefined {
  const has = describeResources(firstResources(spec.podTemplate.spec));
  if (annotations[RESIZED_ANNOTATION] !== undefined) {
    return verdict("True", "Resized", `A pool member was resized while it ran: ${has}`);
  }
  const why = annotations[NOT_RESIZED_ANNOTATION];
  return why === undefined ? undefined : verdict("False", "ColdStart", `A new sandbox was started: ${has}. ${why}`);
}

function verdict(status: "True" | "False", reason: string, message: string): Verdict {
  return { type: RESIZED_CONDITION, status, reason, message };
}
