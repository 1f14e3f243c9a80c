/** Counts requests in the audit log of the bench's own API server, which tells who sent them. @module */
import { createReadStream, existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createTally, type RequestKind, type RequestLog } from "./requestlog.ts";

/** Logs every request once, when it is answered, without bodies. */
const POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted, Panic]
rules: [{ level: Metadata }]
`;

/** The log is written in batches. A batch waits at most this many milliseconds. */
const BATCH_MS = 1000;

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

const CLIENTS: Record<string, string> = {
  "hookbox-keeper": "keeper",
  "hookbox-bench": "load",
  metacontroller: "engine",
};

/** Returns the name of the client. The fake Metacontroller sends no user agent. */
function clientOf(userAgent: string): string {
  const program = userAgent.split("/")[0] ?? "";
  return program === "" ? "engine" : CLIENTS[program] ?? program;
}
