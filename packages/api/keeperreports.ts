/**
 * Reads and writes the annotations in which the keeper reports why the API server refuses something: a child of an
 * object that cannot be created, changed or deleted, and a change of a claim's Sandbox. Hooks need them because they do
 * not see the API server's answers. Only the keeper writes and removes them. @module
 */
import type { ClaimProblem } from "./claims/problem.ts";
import { cutText } from "./objects/conditions.ts";
import { isObject, readJson } from "./objects/json.ts";
import { REFUSED_WRITE_ANNOTATION, UNRESOLVED_ANNOTATION } from "./objects/keys.ts";
import type { ObjectMeta } from "./objects/objects.ts";
import { withLimit } from "./objects/size.ts";

/**
 * Why one child does not exist or is not up to date.
 *
 * | state | meaning |
 * |---|---|
 * | `taken` | an object with its name exists that does not belong to this parent and may not be taken over |
 * | `invalid` | the API server refuses its content; only another spec helps (`generation` says which spec was refused) |
 * | `refused` | the API server refuses it for now: quota, admission, permissions |
 * | `stuck` | it exists, and the API server refuses to change or delete it |
 * | `missing` | the API server would accept it, but no hook creates it; only for a NetworkPolicy |
 */
export interface Problem {
  /** The first three are children of a Sandbox. A NetworkPolicy is a template's child, and a Sandbox a pool's. */
  kind: typeof KINDS[number];
  name: string;
  state: typeof STATES[number];
  /** For people, with the wording of Agent Sandbox. It becomes part of the Ready condition. */
  message: string;
}
const KINDS = ["PersistentVolumeClaim", "Pod", "Service", "NetworkPolicy", "Sandbox"] as const;
const STATES = ["taken", "invalid", "refused", "stuck", "missing"] as const;

/** The value of a parent's annotation. */
export interface Unresolved {
  /** `metadata.generation` of the parent that the keeper has checked. */
  generation: number;
  /** In the order PersistentVolumeClaims, Pod, Service. */
  problems: Problem[];
}

/** Reads the annotation of a parent; undefined: there is none, or it does not have the keeper's format. */
export function readUnresolved(meta: ObjectMeta): Unresolved | undefined {
  const value = readJson(meta.annotations?.[UNRESOLVED_ANNOTATION]);
  if (!isObject(value)) return undefined;
  const { generation, problems } = value;
  if (typeof generation !== "number" || !Array.isArray(problems) || !problems.every(isProblem)) return undefined;
  return { generation, problems };
}

function isProblem(value: unknown): value is Problem {
  if (!isObject(value)) return false;
  const { kind, name, state, message } = value;
  return isOneOf(KINDS, kind) && typeof name === "string" && isOneOf(STATES, state) && typeof message === "string";
}

function isOneOf<T extends string>(words: readonly T[], value: unknown): value is T {
  return words.includes(value as T);
}

/** The API server refuses to let Metacontroller change or delete the Sandbox of a claim: the value of its annotation. */
export interface RefusedWrite {
  verb: typeof VERBS[number];
  /** The API server's message. */
  words: string;
}
const VERBS = ["update", "delete"] as const;

/** Longest message in characters: it goes into an annotation and a condition. */
const LONGEST = 4096;

/** Writes the value of the annotation: JSON of {@link RefusedWrite}. */
export function refusedWriteText({ verb, words }: RefusedWrite): string {
  return JSON.stringify({ verb, words: cutText(words, LONGEST) });
}

/** Reads the annotation of a claim's Sandbox; undefined: there is none, or it cannot be read. */
export function refusedWrite(sandbox: ObjectMeta): RefusedWrite | undefined {
  const value = readJson(sandbox.annotations?.[REFUSED_WRITE_ANNOTATION]);
  if (!isObject(value)) return undefined;
  const { verb, words } = value;
  return isOneOf(VERBS, verb) && typeof words === "string" ? { verb, words } : undefined;
}

/**
 * Returns the claim's problem, if the API server has refused this kind of write to its Sandbox; undefined: it has not.
 */
export function refusedWriteProblem(sandbox: ObjectMeta, verb: RefusedWrite["verb"]): ClaimProblem | undefined {
  const refused = refusedWrite(sandbox);
  if (refused?.verb !== verb) return undefined;
  const words = withLimit(refused.words);
  return { reason: "ReconcilerError", message: `${PREFIX}${verb} Sandbox "${sandbox.name}": ${words}` };
}

const PREFIX = "Error seen: cannot ";
const REPORT = /^Error seen: cannot (?:update|delete) Sandbox "[^"]*": /;

/** Tells whether a message comes from {@link refusedWriteProblem}. */
export function isRefusedWrite(message: string): boolean {
  return REPORT.test(message);
}

/** Returns the API server's part of a message of {@link refusedWriteProblem}. */
export function refusedWords(message: string): string {
  return message.replace(REPORT, "");
}

/**
 * End of the message of a claim that is Ready, but whose Sandbox does not have the claim's metadata yet. The hook cannot know
 * whether the API server refuses the update: if it refuses all updates, the keeper cannot write its annotation either.
 */
export const METADATA_NOT_APPLIED = "; spec.additionalPodMetadata of the claim is not applied yet";

/** Tells whether the message of a claim's Ready condition ends with {@link METADATA_NOT_APPLIED}. */
export function lacksMetadata(message: string): boolean {
  return message.endsWith(METADATA_NOT_APPLIED);
}
