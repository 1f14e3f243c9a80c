/**
 * Types for the result of a diagnosis: one root cause, the object that causes it, the evidence, and a remedy. @module
 */
import { CATALOGUE, type Code } from "./catalogue.ts";

/** Identifies an object. `namespace` is absent if its kind is not namespaced. */
export interface ObjectRef {
  kind: string;
  namespace?: string;
  name: string;
}

/** One observation. */
export interface Evidence {
  object: ObjectRef;
  /** Where in the object it was seen, such as `status.conditions[Ready]` or `Event FailedScheduling`. */
  where: string;
  text: string;
}

/** The root cause of the state of a claim, pool, template or Sandbox. */
export interface Finding {
  code: Code;
  /** Nothing is wrong. */
  isOk: boolean;
  /** The object that causes the problem, which need not exist. If nothing is wrong, the subject. */
  object: ObjectRef;
  /** One sentence for people. */
  summary: string;
  /** The strongest evidence comes first. Empty only if `isOk`. */
  evidence: Evidence[];
  /** When the problem began, in RFC 3339; absent: not known. */
  since?: string;
  /** One imperative sentence that names the command or the field to change. */
  remedy: string;
  /** Waiting does not help. */
  hopeless: boolean;
  /** The objects on the way from the subject to the object that causes the problem, including both. */
  chain: ObjectRef[];
}

/** A cause as a rule finds it. It does not contain the way from the subject to the object that the rule examined. */
export interface Cause extends Omit<Finding, "isOk" | "chain"> {
  /** The way from the examined object to the object that causes the problem. */
  path: ObjectRef[];
  /** The evidence does not prove the cause. The finding then also reports what could not be read. */
  isGuess: boolean;
}

type CauseDetails = Pick<Cause, "object" | "summary" | "evidence"> & Partial<Omit<Cause, "code" | "since">> & {
  since?: string | undefined;
};

/**
 * Creates a cause. Remedy and `hopeless` come from the catalogue, and the path leads to the object, unless `told` sets
 * them.
 */
export function cause(code: Code, { since, ...told }: CauseDetails): Cause {
  const { remedy, hopeless } = CATALOGUE[code];
  return {
    code,
    remedy,
    hopeless,
    path: [told.object],
    isGuess: false,
    ...told,
    ...(since === undefined ? {} : { since }),
  };
}

/** Tells whether two references name the same object. */
export function isSame(a: ObjectRef, b: ObjectRef): boolean {
  return a.kind === b.kind && a.name === b.name && a.namespace === b.namespace;
}

/** Formats a reference for a sentence: `SandboxTemplate "python"`. */
export function named({ kind, name }: ObjectRef): string {
  return `${kind} "${name}"`;
}
