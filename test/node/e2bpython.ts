/** Every exported method of E2B's Python SDKs, sync and async, and what hookbox makes of it: rows of docs/e2b.md. @module */
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { ranProgram } from "../ranprogram.ts";
import { differenceOf, type Outcome, sentenceOf } from "./e2bmethods.ts";

const PROGRAM = fileURLToPath(new URL("programs/e2bmethods.py", import.meta.url));

/** What a method does on hookbox. */
export interface PythonOutcome extends Outcome {
  /** The name that the method has, or would have, in JavaScript. */
  javascript: string;
  /** The only one of the SDKs that has the method. Absent: both have it. */
  only?: "sync" | "async";
}

/** Methods whose name in JavaScript is not that of Python in camel case. */
const SPELLED: Record<string, string> = {
  "Template.to_json": "Template.toJSON",
  "Template().from_aws_registry": "Template().fromAWSRegistry",
  "Template().from_gcp_registry": "Template().fromGCPRegistry",
  "pty.send_stdin": "pty.sendInput",
  "wait_for_url": "waitForURL",
};

/**
 * Uses every method of both, and returns what came of it, sorted by name.
 *
 * @param python a Python that has them
 * @param env the variables that a user sets
 * @throws {Error} if a method has no case, or does other than its case says
 */
export async function usePythonMethods(python: string, env: Record<string, string>): Promise<PythonOutcome[]> {
  const outcomesOf = async (kind: "sync" | "async"): Promise<PythonOutcome[]> => {
    const printed = await ranProgram(python, ["-B", PROGRAM, kind], { env: { ...process.env, ...env } });
    return (JSON.parse(printed) as Outcome[]).map(withDifference);
  };
  // One after the other, because the node has room for few sandboxes.
  const sync = await outcomesOf("sync");
  const asynchronous = await outcomesOf("async");
  const has = (outcomes: PythonOutcome[], method: string) => outcomes.some((one) => one.method === method);
  const onlySync = sync.filter(({ method }) => !has(asynchronous, method));
  const onlyAsync = asynchronous.filter(({ method }) => !has(sync, method));
  const common = sync.filter((one) => !onlySync.includes(one));
  expect(asynchronous.filter((one) => !onlyAsync.includes(one))).toEqual(common);
  return [
    ...common,
    ...onlySync.map((one): PythonOutcome => ({ ...one, only: "sync" })),
    ...onlyAsync.map((one): PythonOutcome => ({ ...one, only: "async" })),
  ].sort((a, b) => a.method < b.method ? -1 : 1);
}

function withDifference({ method, result, note }: Outcome): PythonOutcome {
  const javascript = SPELLED[method] ?? method.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const difference = result === "works" ? differenceOf(javascript) : undefined;
  if (difference !== undefined) return { method, javascript, result: "differs", note: difference };
  return { method, javascript, result, ...note === undefined ? {} : { note: sentenceOf(new Error(note)) } };
}
