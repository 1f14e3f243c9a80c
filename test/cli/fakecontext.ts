/** A context in memory for commands: what they write is kept, their cluster is whatever Api the test brings. @module */
import { Readable } from "node:stream";
import type { Answer, Api, ApiRequest } from "../../packages/kube/api.ts";
import { runCLI } from "../../packages/cli/program.ts";
import type { Cluster, CommandContext, Output } from "../../packages/cli/commandcontext.ts";

/** What a command line has led to. */
export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** Parts of the context that a test sets. */
export interface Setting extends Partial<Omit<CommandContext, "stdout" | "stderr" | "stdin">> {
  api?: Api;
  isTTY?: boolean;
  input?: string;
}

export const NOW = new Date("2026-11-21T12:00:00Z");

/** Makes a context, and what tells what was written. */
export function fakeContext({ api, isTTY = false, input = "", ...set }: Setting = {}): {
  context: CommandContext;
  written: { stdout: string; stderr: string };
} {
  const written = { stdout: "", stderr: "" };
  const output = (key: keyof typeof written): Output => {
    const decoder = new TextDecoder();
    return {
      isTTY,
      columns: isTTY ? 100 : undefined,
      rows: isTTY ? 30 : undefined,
      drained: () => Promise.resolve(),
      write: (data) => void (written[key] += typeof data === "string" ? data : decoder.decode(data, { stream: true })),
    };
  };
  const cluster = (namespace: string | undefined): Promise<Cluster> => {
    if (!api) return Promise.reject(new Error("Cannot reach a cluster: the test has none"));
    const read: Cluster["read"] = async (path, query) => {
      const answer = await api.send({ method: "GET", path, query });
      return { ...answer, chunks: answer.status === 200 ? chunksOf(String(answer.body)) : nothing() };
    };
    const place = { namespace: namespace ?? "default", server: "https://fake", source: "the test" };
    const credentials = { ...place, current: () => Promise.resolve({ headers: {}, tls: {} }) };
    return Promise.resolve({ api, read, credentials, ...place });
  };
  const context: CommandContext = {
    program: "hookbox",
    env: {},
    stdin: Readable.from(input === "" ? [] : [input]) as CommandContext["stdin"],
    stdout: output("stdout"),
    stderr: output("stderr"),
    now: () => NOW,
    signal: new AbortController().signal,
    fetch: () => Promise.reject(new Error("Cannot fetch: the test has nothing to fetch")),
    connectCluster: ({ namespace }) => cluster(namespace),
    connect: () => Promise.reject(new Error("Cannot connect: the test has no sandboxes")),
    browse: () => Promise.resolve(false),
    ...set,
  };
  return { context, written };
}

/** Runs a command line, words apart by spaces or in an array. */
export async function run(line: string | string[], setting: Setting = {}): Promise<Ran> {
  const { context, written } = fakeContext(setting);
  const code = await runCLI(typeof line === "string" ? line.split(" ").filter(Boolean) : line, context);
  return { code, ...written };
}

/** An API server that answers what the test says: `"GET /path"` to a body, or to a whole answer. */
export function fakeApi(answers: Record<string, unknown>): Api & { requests: ApiRequest[] } {
  const requests: ApiRequest[] = [];
  return {
    requests,
    send: (request) => {
      requests.push(request);
      const line = `${request.method} ${request.path}`;
      const found = answers[`${line}?${request.query?.["fieldSelector"]}`] ?? answers[line];
      const missing = { status: 404, body: { message: `${request.path} not found`, reason: "NotFound" } };
      return Promise.resolve(found === undefined ? missing : isAnswer(found) ? found : { status: 200, body: found });
    },
    watch: () => Promise.resolve({ status: 200, body: null, events: nothing() }),
  };
}

async function* nothing(): AsyncGenerator<never> {}

/** A few bytes at a time, as a connection may bring them. */
async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += 5) yield bytes.subarray(at, at + 5);
}

function isAnswer(value: unknown): value is Answer {
  return typeof (value as Answer).status === "number" && "body" in (value as Answer);
}

/** A list as the API server sends it: its items do not say what they are. */
export function listOf(apiVersion: string, kind: string, ...items: object[]): object {
  return { apiVersion, kind: `${kind}List`, metadata: { resourceVersion: "7" }, items };
}
