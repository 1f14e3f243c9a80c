/**
 * Late binding: which environment variables, files and start command of a claim its Sandbox gets while it runs, so that
 * the claim can have a member of the pool. @module
 */
import type { Sandbox } from "../sandbox.ts";
import type { ClaimEnvironmentVariable, SandboxClaim } from "../sandboxclaim.ts";
import type { SandboxTemplate } from "../sandboxtemplate.ts";
import {
  LATE_BINDING_ANNOTATION,
  SECRET_ENV_ANNOTATION,
  SECRET_FILES_ANNOTATION,
  START_COMMAND_ANNOTATION,
} from "../objects/keys.ts";

/** Tells whether the template lets its claims bind late: its container runs hookbox's runtime, with a token. */
export function allowsLateBinding(template: SandboxTemplate | undefined): boolean {
  return template?.metadata.annotations?.[LATE_BINDING_ANNOTATION] === "Allowed";
}

/**
 * Tells whether the variables can be bound late: all are for the first container, where the runtime is.
 *
 * @param template undefined: not known, so they cannot
 */
export function canBindLate(env: readonly ClaimEnvironmentVariable[], template: SandboxTemplate | undefined): boolean {
  if (!allowsLateBinding(template)) return false;
  const first = template?.spec.podTemplate.spec.containers[0]?.name;
  return env.every(({ containerName }) => !containerName || containerName === first);
}

/** A value from a Secret of the claim's namespace. */
export interface SecretValue {
  /** Name of the variable, or path of the file in the sandbox. */
  name: string;
  secret: string;
  key: string;
}

/** What a claim sets by annotations, which its Sandbox gets while it runs. */
export interface LateContents {
  env: SecretValue[];
  files: SecretValue[];
  /** A script for `sh -c`; undefined: none. */
  start: string | undefined;
}

/** The same patterns as in deploy/binder/secrets.yaml: a claim that this reads differently would be checked wrongly. */
const SECRET_KEY = /=([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)\/([-._a-zA-Z0-9]+)$/;
const VARIABLE = new RegExp(`^([-._a-zA-Z][-._a-zA-Z0-9]*)${SECRET_KEY.source}`);
const FILE = new RegExp(`^([^,=\\p{Cc}]+)${SECRET_KEY.source}`, "u");
/** More would exceed what an admission policy may ask. */
const MOST_SECRET_VALUES = 8;

/** Reads what a claim sets by annotations. @returns a text for people if an annotation is invalid */
export function lateContents(
  { metadata: { annotations = {} } }: Pick<SandboxClaim, "metadata">,
): LateContents | string {
  const env = secretValues(annotations, SECRET_ENV_ANNOTATION, VARIABLE, "NAME");
  const files = secretValues(annotations, SECRET_FILES_ANNOTATION, FILE, "PATH");
  if (typeof env === "string") return env;
  if (typeof files === "string") return files;
  const count = env.length + files.length;
  if (count > MOST_SECRET_VALUES) {
    const names = `annotations ${SECRET_ENV_ANNOTATION} and ${SECRET_FILES_ANNOTATION}`;
    return `${names} have ${count} entries; at most ${MOST_SECRET_VALUES} are allowed`;
  }
  const paths = files.map(({ name }) => name);
  const wrong = paths.find((path, i) => /(^|\/)\.{0,2}$|^~$/.test(path) || paths.indexOf(path) !== i);
  if (wrong !== undefined) {
    return `annotation ${SECRET_FILES_ANNOTATION}: "${wrong}" is a folder, or is there twice`;
  }
  const start = annotations[START_COMMAND_ANNOTATION];
  if (start === "" || start?.includes("\0")) {
    return `annotation ${START_COMMAND_ANNOTATION} is empty, or has a NUL byte`;
  }
  return { env, files, start };
}

function secretValues(
  annotations: Record<string, string>,
  annotation: string,
  pattern: RegExp,
  what: string,
): SecretValue[] | string {
  const entries = annotations[annotation]?.split(",") ?? [];
  const values: SecretValue[] = [];
  for (const entry of entries) {
    const [, name, secret, , , , key] = pattern.exec(entry) ?? [];
    if (name === undefined || secret === undefined || key === undefined) {
      return `annotation ${annotation}: "${entry}" is not ${what}=secret/key`;
    }
    values.push({ name, secret, key });
  }
  return values;
}

const LATE_ANNOTATIONS = [SECRET_ENV_ANNOTATION, SECRET_FILES_ANNOTATION, START_COMMAND_ANNOTATION];

/** Tells whether a running Sandbox must get something for a claim, so that a member must be Ready for it. */
export function needsDelivery({ metadata, spec }: SandboxClaim): boolean {
  return (spec.env ?? []).length > 0 || LATE_ANNOTATIONS.some((key) => metadata.annotations?.[key] !== undefined);
}

/** Tells whether each Pod of the Sandbox must get the variables of its claim, even if there are none. */
export function bindsLate({ metadata }: Pick<Sandbox, "metadata">): boolean {
  return metadata.annotations?.[LATE_BINDING_ANNOTATION] === "Required";
}

/**
 * Returns the variables that a claim's Sandbox must get while it runs.
 *
 * @param isCold the Sandbox was made for the claim, so that its Pod has them
 */
export function lateVariables({ spec }: SandboxClaim, isCold: boolean): Record<string, string> {
  if (isCold) return {};
  return Object.fromEntries((spec.env ?? []).map(({ name, value }) => [name, value]));
}
