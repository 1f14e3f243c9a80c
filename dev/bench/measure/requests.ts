/** Counts the requests to an API server between two moments, from its audit log or from its counters. @module */
import { createReadStream, existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { RequestCount } from "../result.ts";
import { readSamples } from "./metrics.ts";

export interface RequestLog {
  /** Starts to count. */
  begin(): Promise<void>;
  /** Lists the requests since then, the most frequent first. */
  end(): Promise<RequestCount[]>;
}

type RequestKind = Omit<RequestCount, "count">;

/** Logs every request once, when it is answered, without bodies. */
const POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted, Panic]
rules: [{ level: Metadata }]
`;

/** The log is written in batches. A batch waits at most this many milliseconds. */
const BATCH_MS = 1000;

const CLIENTS: Record<string, string> = {
  "hookbox-keeper": "keeper",
  "hookbox-bench": "load",
  metacontroller: "engine",
};

const VERBS: Record<string, string> = {
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  APPLY: "patch",
  DELETE: "delete",
};

/** Adds up requests of the same kind. Kinds with a sum of 0 are not listed. */
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

/** Prepares an audit log in a folder. Returns arguments for kube-apiserver, and a reader of the log. */
export function prepareAudit(folder: string): { apiServerArgs: string[]; requests: RequestLog } {
  const [policy, log] = [join(folder, "audit.yaml"), join(folder, "audit.log")];
  writeFileSync(policy, POLICY);
  const apiServerArgs = [
    `--audit-policy-file=${policy}`,
    `--audit-log-path=${log}`,
    "--audit-log-mode=batch",
    `--audit-log-batch-max-wait=${BATCH_MS}ms`,
    // With the default of 100 MB, the log would continue in another file: 20 minutes of churn write more than that.
    "--audit-log-maxsize=4096",
  ];
  return { apiServerArgs, requests: auditedRequests(log) };
}

/** Reads an audit log. The file need not exist yet. */
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

/** Reads one line of an audit log; undefined: a stage that is not counted. */
export function auditedRequest(line: string): RequestKind | undefined {
  const { stage, verb, userAgent = "", objectRef = {}, responseStatus = {} } = JSON.parse(line);
  if (stage !== "ResponseComplete") return undefined;
  const { resource = "other", subresource } = objectRef;
  return {
    // client-node sends no user agent when it runs a command. Only the load runs commands.
    client: subresource === "exec" ? "load" : clientOf(userAgent),
    verb,
    resource: subresource ? `${resource}/${subresource}` : resource,
    code: responseStatus.code ?? 0,
  };
}

/** Returns the name of the client. The fake Metacontroller sends no user agent. */
function clientOf(userAgent: string): string {
  const program = userAgent.split("/")[0] ?? "";
  return program === "" ? "engine" : CLIENTS[program] ?? program;
}

/** Reads the counters of an API server that the bench has not started. They do not contain the senders of requests. */
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
