/** What a diagnosis says: one root cause, who is to blame, how that is known, and what to do. Types and one builder. @module */
import { CATALOGUE, type Code } from "./catalogue.ts";

/** Names an object; `namespace` is absent for what lives in none. */
export interface ObjectRef {
  kind: string;
  namespace?: string;
  name: string;
}

/** One thing that was seen. */
export interface Evidence {
  object: ObjectRef;
  /** Where in the object, such as `status.conditions[Ready]` or `Event FailedScheduling`. */
  where: string;
  text: string;
}

/** The root cause of a claim's, pool's or Sandbox's state. */
export interface Finding {
  code: Code;
  /** Nothing is wrong. */
  isOk: boolean;
  /** The culprit; where nothing is wrong, the subject. It need not exist. */
  object: ObjectRef;
  /** One sentence for people. */
  summary: string;
  /** Most telling first; never empty unless `isOk`. */
  evidence: Evidence[];
  /** RFC 3339; absent if nobody noted when it began. */
  since?: string;
  /** One imperative sentence that names the command or the field to change. */
  remedy: string;
  /** Waiting alone cannot help. */
  hopeless: boolean;
  /** The way from the subject to the culprit, both included. */
  chain: ObjectRef[];
}

/** A cause as a rule finds it: without the way that led to where the rule looked. */
export interface Cause extends Omit<Finding, "isOk" | "chain"> {
  /** The way on from there to the culprit. */
  path: ObjectRef[];
  /** The evidence does not prove it: what could not be read is told along with it. */
  isGuess: boolean;
}

type Told = Pick<Cause, "object" | "summary" | "evidence"> & Partial<Omit<Cause, "code" | "since">> & {
  since?: string | undefined;
};

/** Makes a cause; remedy and hopelessness are the catalogue's unless told otherwise, the path leads to the object. */
export function cause(code: Code, { since, ...told }: Told): Cause {
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

/** Writes a reference for a sentence: `SandboxTemplate "python"`. */
export function named({ kind, name }: ObjectRef): string {
  return `${kind} "${name}"`;
}
