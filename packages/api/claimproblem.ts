/**
 * What keeps a claim from being given a Sandbox, or its Sandbox from following it: as a verdict, and as the annotation in which
 * the keeper reports it to the claim hook, or the binder where the API server refuses a Sandbox. The keeper removes it, the
 * hook reads it. @module
 */
import * as z from "zod";
import { cutText } from "./objects/fit.ts";
import { UNRESOLVED_ANNOTATION } from "./objects/keys.ts";
import type { ObjectMeta } from "./objects/objects.ts";

/** What is wrong; `message` is for people, word for word what the Ready condition says. */
const claimProblemSchema = z.object({
  reason: z.enum([
    "WarmPoolNotFound",
    "TemplateNotFound",
    "InvalidMetadata",
    "EnvVarsInjectionRejected",
    "VolumeClaimTemplatesError",
    "InvalidConfiguration",
    "ReconcilerError",
    "SandboxMissing",
  ]),
  message: z.string(),
});
export type ClaimProblem = z.infer<typeof claimProblemSchema>;

const claimUnresolvedSchema = claimProblemSchema.extend({
  /** `metadata.generation` of the claim that was looked at. */
  generation: z.number(),
});
export type ClaimUnresolved = z.infer<typeof claimUnresolvedSchema>;

/** Reads the annotation of a claim; undefined if there is none, if it is of another spec, or not the keeper's hand. */
export function readClaimProblem(meta: ObjectMeta): ClaimProblem | undefined {
  const text = meta.annotations?.[UNRESOLVED_ANNOTATION];
  if (text === undefined) return undefined;
  const { generation, ...problem } = parsed(text) ?? {};
  return generation === meta.generation ? (problem as ClaimProblem) : undefined;
}

/** Longest message of the annotation: a message can quote a template, but a claim's annotations may have only 256 KiB. */
const LONGEST_MESSAGE = 4096;

/** Writes what the annotation of a claim says: JSON of {@link ClaimUnresolved}. */
export function problemText({ metadata }: { metadata: ObjectMeta }, problem: ClaimProblem): string {
  const word: ClaimUnresolved = {
    generation: metadata.generation ?? 0,
    ...problem,
    message: cutText(problem.message, LONGEST_MESSAGE),
  };
  return JSON.stringify(word);
}

function parsed(text: string): ClaimUnresolved | undefined {
  try {
    return claimUnresolvedSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
