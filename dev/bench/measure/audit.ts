/** Requests by the audit log of an API server of ours, which tells who asked. @module */
import { createReadStream, existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createTally, type RequestKind, type RequestLog } from "./requestlog.ts";

/** Every request once, when it is answered, without bodies. */
const POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted, Panic]
rules: [{ level: Metadata }]
`;

/** The log is written in batches; the longest that one waits, in milliseconds. */
const BATCH_MS = 1000;

/** Prepares an audit log in a folder: what kube-apiserver has to be told, and who reads the log then. */
export function prepareAudit(folder: string): { apiServerArgs: string[]; requests: RequestLog } {
  const [policy, log] = [join(folder, "audit.yaml"), join(folder, "audit.log")];
  writeFileSync(policy, POLICY);
  const apiServerArgs = [
    `--audit-policy-file=${policy}`,
    `--audit-log-path=${log}`,
    "--audit-log-mode=batch",
    `--audit-log-batch-max-wait=${BATCH_MS}ms`,
    // At 100 MB, the default, it would go on in another file: 20 minutes of churn write more.
    "--audit-log-maxsize=4096",
  ];
  return { apiServerArgs, requests: auditedRequests(log) };
}

/** Reads an audit log, which may not be there yet. */
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

/** Reads one line of an audit log; undefined for a stage that counts for nothing. */
export function auditedRequest(line: string): RequestKind | undefined {
  const { stage, verb, userAgent = "", objectRef = {}, responseStatus = {} } = JSON.parse(line);
  if (stage !== "ResponseComplete") return undefined;
  const { resource = "other", subresource } = objectRef;
  return {
    // client-node names nobody where it runs a command, and no engine runs any.
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

/** Names who asked; the stand-in sends no name of itself. */
function clientOf(userAgent: string): string {
  const program = userAgent.split("/")[0] ?? "";
  return program === "" ? "engine" : CLIENTS[program] ?? program;
}
