/** A runtime of a test, and raw requests of E2B's code interpreter protocol. @module */
import { onTestFinished } from "vitest";
import { makeTempFolder } from "../../tempfolder.ts";
import { startOpenRuntime } from "../servers.ts";

/** One message of a run. */
export type Line = { type: string } & Record<string, unknown>;

/** Starts a runtime that ends with the test. */
export async function anInterpreter(...args: string[]) {
  const workdir = makeTempFolder();
  const runtime = await startOpenRuntime(workdir, ...args);
  onTestFinished(() => runtime.stop());
  const url = `http://127.0.0.1:${runtime.interpreterPort}`;
  const post = (path: string, body: unknown, init: RequestInit = {}) =>
    fetch(`${url}${path}`, { method: "POST", body: JSON.stringify(body), ...init });
  /** Runs code to its end. */
  const run = async (code: string, more: object = {}, init: RequestInit = {}): Promise<Line[]> => {
    const answer = await post("/execute", { code, ...more }, init);
    const lines = (await answer.text()).split("\n");
    if (!answer.ok) throw new Error(`${answer.status} ${lines.join("\n")}`);
    // Each line ends with a line break, so the last piece is empty. No other one may be.
    return lines.slice(0, -1).map((line) => JSON.parse(line));
  };
  return { runtime, url, workdir, post, run };
}

/** Reads messages until one of this type has come. */
export async function readUntil(answer: Response, type: string): Promise<Line[]> {
  const lines: Line[] = [];
  let rest = "";
  for await (const part of answer.body!.values({ preventCancel: true })) {
    // Lines are ASCII.
    const pieces = (rest + new TextDecoder().decode(part)).split("\n");
    rest = pieces.pop() ?? "";
    lines.push(...pieces.map((piece) => JSON.parse(piece)));
    if (lines.some((line) => line.type === type)) break;
  }
  return lines;
}

/** Returns the texts of a stream, one for each message. */
export function textsOf(lines: Line[], stream: "stdout" | "stderr"): unknown[] {
  return lines.filter(({ type }) => type === stream).map(({ text }) => text);
}
