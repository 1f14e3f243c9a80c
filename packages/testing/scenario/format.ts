/** Parses scenario files. @module */
import { parseAllDocuments } from "yaml";
import * as z from "zod";
import { rfc3339 } from "../../api/objects/conditions.ts";
import { type KubeObject, kubeObjectSchema } from "../../api/objects/objects.ts";
import type { ObjectPath } from "../../kube/api.ts";
import { parseDuration } from "../../process/flags.ts";
import { issuePaths } from "../../webhook/hook.ts";

/** The name of an object in the scenario's namespace. */
export interface ObjectName {
  kind: Kind;
  name: string;
}

/** Required state of an object: a condition (`Ready=True`, `Ready=False/PodFailed`), gone, or fields of its status. */
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

const DEFAULT_PATIENCE = "60s";

const durationSchema = z.string().transform((text, context) => {
  const ms = parseDuration(text);
  if (ms !== undefined) return ms;
  context.addIssue({ code: "custom", message: "no length of time such as 5s" });
  return z.NEVER;
});

/** Kinds that a scenario can name, and their resources; all their objects are recorded. */
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
  context.addIssue({ code: "custom", message: `not <kind>/<name> with a kind of ${Object.keys(KINDS).join(", ")}` });
  return z.NEVER;
});
const conditionSchema = z.string().transform((text, context): Wanted => {
  if (text === "gone") return text;
  const [, type = "", status = "", reason] = /^(\w+)=(True|False|Unknown)(?:\/(\w+))?$/.exec(text) ?? [];
  if (type) return { type, status, reason };
  context.addIssue({ code: "custom", message: "neither <type>=<status>, <type>=<status>/<reason> nor gone" });
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
    within: durationSchema.prefault(DEFAULT_PATIENCE),
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
 * Parses a scenario: a stream of YAML documents, each of them an object to apply, or one step:
 *
 * | step | meaning |
 * |---|---|
 * | `patch: <kind>/<name>`, `with: {…}` | merges a change into an object |
 * | `delete: <kind>/<name>`, `propagation: Foreground` | deletes it |
 * | `wait: <kind>/<name>`, `for: …`, `within: 60s` | waits until a condition holds, it is `gone`, or its status has these fields |
 * | `advance: 5s` | lets time pass |
 * | `expect: <kind>/<name>`, `Ready: [False DependenciesNotReady, …]` | checks the states of a condition so far, see `runScenario` |
 *
 * A text `now+5s` anywhere in an object or a change is replaced by this time, in RFC 3339.
 *
 * @throws {SyntaxError} with the number of the invalid document
 */
export function readScenario(text: string): Scenario {
  const documents = parseAllDocuments(text);
  const steps = documents.map((document, index) => {
    const { data, error } = stepSchema.safeParse(document.toJS());
    const [broken] = document.errors;
    if (broken) throw new SyntaxError(`Cannot read document ${index + 1}: ${broken.message}`);
    if (error) throw new SyntaxError(`Cannot read document ${index + 1}: ${issuePaths(error).join(", ")}`);
    return data;
  });
  return { steps };
}

/** Returns a copy in which every `now+<duration>` is replaced by a time. */
export function withTimes<T>(value: T, now: number): T {
  return JSON.parse(JSON.stringify(value), (_, found) => {
    const [, duration = ""] = (typeof found === "string" && /^now\+(.+)$/.exec(found)) || [];
    const ms = parseDuration(duration);
    return ms === undefined ? found : rfc3339(new Date(now + ms));
  });
}

/** Tells whether a scenario can name a kind. */
export function isScenarioKind(kind: string): kind is Kind {
  return Object.hasOwn(KINDS, kind);
}
