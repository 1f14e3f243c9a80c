/** How the keeper reports that the API server does not let Metacontroller change or delete the Sandbox of a claim. Pure. @module */
import { type ClaimProblem, readClaimProblem } from "../claimproblem.ts";
import type { ObjectMeta } from "../objects/objects.ts";

/** Makes the report. @param words the API server's message */
export function writeRefused(verb: "update" | "delete", sandbox: string, words: string): ClaimProblem {
  return { reason: "ReconcilerError", message: `Error seen: cannot ${verb} Sandbox "${sandbox}": ${words}` };
}

const PREFIX = /^Error seen: cannot (?:update|delete) Sandbox "[^"]*": /;

/** Tells whether a problem is that of {@link writeRefused}. */
export function isWriteRefused({ message }: ClaimProblem): boolean {
  return PREFIX.test(message);
}

/** Reads the report from a claim, and the API server's message in it; undefined: there is none about this generation. */
export function refusedWrite(claim: ObjectMeta): { problem: ClaimProblem; words: string } | undefined {
  const problem = readClaimProblem(claim);
  return problem && isWriteRefused(problem) ? { problem, words: problem.message.replace(PREFIX, "") } : undefined;
}
