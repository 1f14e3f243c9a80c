/**
 * Reads and writes the report that the API server refuses to let Metacontroller change or delete the Sandbox of a
 * claim. The keeper reports this in an annotation of the Sandbox, and the claim's hook copies it to the claim. @module
 */
import * as z from "zod";
import type { ClaimProblem } from "../claimproblem.ts";
import { cutText } from "../objects/fit.ts";
import { readJson } from "../objects/json.ts";
import { REFUSED_WRITE_ANNOTATION } from "../objects/keys.ts";
import { withLimit } from "../objects/limits.ts";
import type { ObjectMeta } from "../objects/objects.ts";

const refusedWriteSchema = z.object({
  verb: z.enum(["update", "delete"]),
  /** The API server's message. */
  words: z.string(),
});
/** The value of the annotation. */
export type RefusedWrite = z.infer<typeof refusedWriteSchema>;

/** Longest message in characters: it goes into an annotation and a condition. */
const LONGEST = 4096;

/** Writes the value of the annotation: JSON of {@link RefusedWrite}. */
export function refusedWriteText({ verb, words }: RefusedWrite): string {
  return JSON.stringify({ verb, words: cutText(words, LONGEST) });
}

/** Reads the annotation of a claim's Sandbox; undefined: there is none, or it cannot be read. */
export function refusedWrite(sandbox: ObjectMeta): RefusedWrite | undefined {
  return refusedWriteSchema.safeParse(readJson(sandbox.annotations?.[REFUSED_WRITE_ANNOTATION])).data;
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
