/** Suspended Sandboxes that give back what they are sent, and many requests for them at once. @module */
import { randomBytes } from "node:crypto";
import { createAll } from "../integration/bulk.ts";
import { until } from "../integration/kubectl.ts";
import { condition, type Loose, type Namespace, sleeper } from "../integration/namespace.ts";
import type { Router } from "./router.ts";
import { ask } from "./runtimepods.ts";

const PORT = 8888;
const PATH = "/cgi-bin/echo";
/** A web server of a megabyte: a hundred of them fit on one node. */
const PROGRAM =
  `mkdir -p /tmp/www/cgi-bin && cd /tmp/www && cat > .${PATH} <<'.' && chmod +x .${PATH} && exec httpd -f -p ${PORT}
#!/bin/sh
printf 'Content-Type: application/octet-stream\\r\\n\\r\\n'
exec head -c "$CONTENT_LENGTH"
.
`;

/** Makes a Sandbox, suspended from the start, that answers a POST with its body. */
function suspendedEcho(name: string): Loose {
  const main = {
    name: "main",
    image: "busybox:1.37",
    command: ["sh", "-c", PROGRAM],
    readinessProbe: { tcpSocket: { port: PORT }, periodSeconds: 1 },
  };
  return sleeper(name, { operatingMode: "Suspended" }, { containers: [main] });
}

/** Creates so many and waits until they say that they are suspended. Returns their names. */
export async function makeSuspended(ns: Namespace, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, i) => `echo-${i}`);
  await createAll(ns, names.map(suspendedEcho));
  const isSuspended = (sandbox: Loose) => condition(sandbox, "Ready")?.reason === "SandboxSuspended";
  await until(() => ns.list("sandbox"), (all) => all.filter(isSuspended).length === count);
  return names;
}

/** What became of one request. */
export interface Outcome {
  sandbox: string;
  /** 0 if the connection broke. */
  status: number;
  /** The answer is what was sent, byte for byte. */
  isSame: boolean;
  /** Header Server-Timing; empty if there is none. */
  timing: string;
  /** Code of the error of a connection that broke, else empty. */
  error: string;
}

/** Asks every sandbox `each` times, all at once, in turns through the routers; every body is another. Never throws. */
export function askAll(ns: Namespace, routers: Router[], names: string[], each: number): Promise<Outcome[]> {
  const questions = Array.from({ length: each }, (_, round) => names.map((sandbox) => ({ sandbox, round }))).flat();
  return Promise.all(questions.map(({ sandbox, round }) => {
    return askOnce(routers[round % routers.length]!, ns, sandbox);
  }));
}

async function askOnce(router: Router, ns: Namespace, sandbox: string): Promise<Outcome> {
  const sent = randomBytes(2000 + Math.floor(Math.random() * 2000));
  try {
    const question = { port: PORT, method: "POST", path: PATH, body: sent };
    const { status, headers, body } = await ask(router, ns, sandbox, question);
    const timing = String(headers["server-timing"] ?? "");
    return { sandbox, status, isSame: sent.equals(body), timing, error: "" };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { sandbox, status: 0, isSame: false, timing: "", error: code ?? message };
  }
}

/** Counts outcomes by status, and by error where there is none. */
export function tally(outcomes: Outcome[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, error } of outcomes) counts[error || status] = (counts[error || status] ?? 0) + 1;
  return counts;
}
