/** Which requests the API server answered: from its audit log where that is ours, else from its counters. @module */
import { createReadStream, existsSync, statSync } from "node:fs";
import { createInterface } from "node:readline";
import type { RequestCount } from "../result.ts";
import { readSamples } from "./prometheus.ts";

/** Counts requests from one moment to another. */
export interface RequestLog {
  /** Marks the beginning. */
  begin(): Promise<void>;
  /** Lists what came since, most first. */
  end(): Promise<RequestCount[]>;
}

/** What `--audit-policy-file` has to say: every request once, when it is answered, without bodies. */
export const AUDIT_POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted, Panic]
rules: [{ level: Metadata }]
`;

/** The log is written in batches; the longest that one waits, in milliseconds. */
const BATCH_MS = 1000;
export const AUDIT_FLAGS = ["--audit-log-mode=batch", `--audit-log-batch-max-wait=${BATCH_MS}ms`];

/** Follows an audit log of a local cluster. */
export function auditedRequests(file: string): RequestLog {
  let start = 0;
  const flushed = () => new Promise((resolve) => setTimeout(resolve, BATCH_MS + 200));
  return {
    async begin() {
      await flushed();
      start = existsSync(file) ? statSync(file).size : 0;
    },
    async end() {
      await flushed();
      const counts = createTally();
      for await (const line of createInterface({ input: createReadStream(file, { start }) })) {
        const request = auditedRequest(line);
        if (request) counts.add(request, 1);
      }
      return counts.list();
    },
  };
}

type RequestKind = Omit<RequestCount, "count">;

/** Reads one line of an audit log; undefined for a stage that counts for nothing. */
export function auditedRequest(line: string): RequestKind | undefined {
  const { stage, verb, userAgent = "", objectRef = {}, responseStatus = {} } = JSON.parse(line);
  if (stage !== "ResponseComplete") return undefined;
  const { resource = "other", subresource } = objectRef;
  return {
    client: clientOf(userAgent),
    verb,
    resource: subresource ? `${resource}/${subresource}` : resource,
    code: responseStatus.code ?? 0,
  };
}

const CLIENTS: Record<string, string> = {
  "hookbox-keeper": "keeper",
  "hookbox-bench": "load",
  metacontroller: "engine",
};

/** Names who asked; the stand-in sends no name of itself. */
function clientOf(userAgent: string): string {
  const program = userAgent.split("/")[0] ?? "";
  return program === "" ? "engine" : CLIENTS[program] ?? program;
}

/** Reads the counters of an API server that is not ours: they do not tell who asked. */
export function countedRequests(metrics: () => Promise<string>): RequestLog {
  let before = createTally();
  const read = async () => {
    const tally = createTally();
    for (const { labels, value } of readSamples(await metrics(), ["apiserver_request_total"])) {
      const { resource = "", subresource = "", verb = "", code } = labels;
      const name = subresource ? `${resource}/${subresource}` : resource || "other";
      tally.add({ verb: VERBS[verb] ?? verb.toLowerCase(), resource: name, code: Number(code) }, value);
    }
    return tally;
  };
  return {
    begin: async () => void (before = await read()),
    end: async () => {
      const after = await read();
      for (const { count, ...request } of before.list()) after.add(request, -count);
      return after.list();
    },
  };
}

const VERBS: Record<string, string> = {
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  APPLY: "patch",
  DELETE: "delete",
};

function createTally() {
  const counts = new Map<string, number>();
  return {
    add(request: RequestKind, count: number): void {
      const key = JSON.stringify(request);
      counts.set(key, (counts.get(key) ?? 0) + count);
    },
    list: (): RequestCount[] =>
      [...counts].flatMap(([key, count]) => count > 0 ? [{ ...JSON.parse(key) as RequestKind, count }] : [])
        .sort((a, b) => b.count - a.count),
  };
}
