/** Parses scenario files, which list the steps that a test takes in a cluster. @module */
import { parseAllDocuments } from "yaml";
import * as z from "zod";
import { rfc3339 } from "../../api/objects/conditions.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { kubeObjectSchema } from "../../api/objects/schemas.ts";
import type { ObjectPath } from "../../kube/api.ts";
import { parseDuration } from "../../process/flags.ts";
import { issuePaths } from "../../webhook/hook.ts";

/** The name of an object in the scenario's namespace. */
export interface ObjectName {
  kind: Kind;
  name: string;
}

/** The state to wait for: a condition (`Ready=True`, `Ready=False/PodFailed`), no object, or fields of the status. */
export type Wanted = { type: string; status: string; reason: string | undefined } | "gone" | Record<string, unknown>;

/** One step of a scenario; times in milliseconds. */
export type Step =
  | { step: "apply"; object: KubeObject }
  | { step: "patch"; target: ObjectName; change: Record<string, unknown> }
  | { step: "delete"; target: ObjectName; propagation: "Background" | "Foreground" | undefined }
  | { step: "wait"; target: ObjectName; wanted: Wanted; withinMs: number }
  | { step: "advance"; ms: number }
  | { step: "expect"; target: ObjectName; seen: Record<string, string[]> };

/** A parsed scenario. */
export interface Scenario {
  steps: Step[];
}

/** A kind that a scenario can name. */
export type Kind = keyof typeof KINDS;

const DEFAULT_TIMEOUT = "60s";

const durationSchema = z.string().transform((text, context) => {
  const ms = parseDuration(text);
  if (ms !== undefined) return ms;
  context.addIssue({ code: "custom", message: "not a duration such as 5s" });
  return z.NEVER;
});

/** Kinds that a scenario can name, and their resources. The history of a run contains all objects of these kinds. */
export const KINDS = {
  Sandbox: "sandboxes",
  SandboxClaim: "sandboxclaims",
  SandboxWarmPool: "sandboxwarmpools",
  SandboxTemplate: "sandboxtemplates",
  Pod: "pods",
  Service: "services",
  PersistentVolumeClaim: "persistentvolumeclaims",
  NetworkPolicy: "networkpolicies",
} as const satisfies Record<string, ObjectPath["resource"]>;

const nameSchema = z.string().transform((text, context): ObjectName => {
  const [kind = "", name = ""] = text.split("/");
  if (isScenarioKind(kind) && name !== "") return { kind, name };
  context.addIssue({ code: "custom", message: `not <kind>/<name>; the kinds are ${Object.keys(KINDS).join(", ")}` });
  return z.NEVER;
});
const conditionSchema = z.string().transform((text, context): Wanted => {
  if (text === "gone") return text;
  const [, type = "", status = "", reason] = /^(\w+)=(True|False|Unknown)(?:\/(\w+))?$/.exec(text) ?? [];
  if (type) return { type, status, reason };
  context.addIssue({ code: "custom", message: "not <type>=<status>, <type>=<status>/<reason> or gone" });
  return z.NEVER;
});

const stepSchema = z.union([
  kubeObjectSchema.transform((object): Step => ({ step: "apply", object })),
  z.strictObject({ patch: nameSchema, with: z.record(z.string(), z.unknown()) })
    .transform(({ patch: target, with: change }): Step => ({ step: "patch", target, change })),
  z.strictObject({ delete: nameSchema, propagation: z.enum(["Background", "Foreground"]).optional() })
    .transform(({ delete: target, propagation }): Step => ({ step: "delete", target, propagation })),
  z.strictObject({
    wait: nameSchema,
    for: z.union([conditionSchema, z.record(z.string(), z.unknown())]),
    within: durationSchema.prefault(DEFAULT_TIMEOUT),
  }).transform(({ wait: target, for: wanted, within: withinMs }): Step => ({ step: "wait", target, wanted, withinMs })),
  z.strictObject({ advance: durationSchema }).transform(({ advance: ms }): Step => ({ step: "advance", ms })),
  z.object({ expect: nameSchema }).catchall(z.array(z.string()).min(1))
    .transform(({ expect: target, ...seen }): Step => ({
      step: "expect",
      target,
      seen: seen as Record<string, string[]>,
    })),
]);

/**
 * Parses a scenario: a stream of YAML documents. Each document is an object to apply, or one of these steps:
 *
 * | step | meaning |
 * |---|---|
 * | `patch: <kind>/<name>`, `with: {…}` | merges the fields of `with` into an object |
 * | `delete: <kind>/<name>`, `propagation: Foreground` | deletes an object |
 * | `wait: <kind>/<name>`, `for: …`, `within: 60s` | waits for a condition (`Ready=True`), fields of the status (`{replicas: 2}`), or the deletion of the object (`gone`) |
 * | `advance: 5s` | lets time pass |
 * | `expect: <kind>/<name>`, `Ready: [False DependenciesNotReady, …]` | compares all states of a condition so far, see `runScenario` |
 *
 * In objects and patches, a value `now+5s` is replaced by the time in 5 seconds, in RFC 3339.
 *
 * @throws {SyntaxError} if a document is invalid; the message contains its number, from 1
 */
export function readScenario(text: string): Scenario {
  const documents = parseAllDocuments(text);
  const steps = documents.map((document, index) => {
    const { data, error } = stepSchema.safeParse(document.toJS());
    const [yamlError] = document.errors;
    if (yamlError) throw new SyntaxError(`Cannot read document ${index + 1}: ${yamlError.message}`);
    if (error) throw new SyntaxError(`Cannot read document ${index + 1}: ${issuePaths(error).join(", ")}`);
    return data;
  });
  return { steps };
}

/** Returns a copy in which each text `now+<duration>` is replaced by a time in RFC 3339. @param now in milliseconds */
export function replaceTimes<T>(value: T, now: number): T {
  return JSON.parse(JSON.stringify(value), (_, field) => {
    const [, duration = ""] = (typeof field === "string" && /^now\+(.+)$/.exec(field)) || [];
    const ms = parseDuration(duration);
    return ms === undefined ? field : rfc3339(new Date(now + ms));
  });
}

/** Returns whether a scenario can name a kind. */
export function isScenarioKind(kind: string): kind is Kind {
  return Object.hasOwn(KINDS, kind);
}
