/** Sandboxes with our runtime inside, on a real node, and questions to them through a router. @module */
import { Buffer } from "node:buffer";
import { request } from "node:http";
import { RUNTIME_IMAGE } from "../../dev/cluster/runtimeimage.ts";
import { condition, type Loose, type Namespace, sleeper } from "../integration/namespace.ts";
import type { Router } from "./router.ts";
import { shared } from "../integration/shared.ts";

/** Its ports: of commands, and of files, health and the services. */
export const COMMANDS = 8888;
export const FILES = 8080;

/** Pod spec fields of a runtime that is Ready once it listens, and stays so however busy the machine is. */
export const SERVING = {
  containers: [{
    name: "main",
    image: RUNTIME_IMAGE,
    imagePullPolicy: "IfNotPresent",
    readinessProbe: { httpGet: { path: "/v1/health", port: FILES }, periodSeconds: 1, timeoutSeconds: 10 },
  }],
};

/** For beforeAll: brings the runtime's image to the node, once for all files that want it. */
export async function needsRuntime(): Promise<void> {
  await shared("runtimeImage");
}

/** Makes a Sandbox with a runtime; annotations are the router's, without its prefix. */
export function aRuntime(name: string, annotations: Record<string, string> = {}, spec: Loose = {}): Loose {
  const sandbox = sleeper(name, spec, SERVING);
  return { ...sandbox, metadata: { name, annotations: ofRouter(annotations) } };
}

/** Returns annotations with the router's prefix. */
export function ofRouter(annotations: Record<string, string | null>): Record<string, string | null> {
  return Object.fromEntries(
    Object.entries(annotations).map(([key, value]) => [`router.agents.x-k8s.io/${key}`, value]),
  );
}

/** Returns an annotation of a router. */
export function routers(sandbox: Loose, key: string): string | undefined {
  return sandbox.metadata.annotations?.[`router.agents.x-k8s.io/${key}`];
}

/** Tells whether the Sandbox is Ready. */
export function isReady(sandbox: Loose): boolean {
  return condition(sandbox, "Ready")?.status === "True";
}

/** What is asked of a sandbox. */
export interface Question {
  port: number;
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
}

export interface Answered {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/** Returns the headers by which a router finds a sandbox. */
export function naming(ns: Namespace, name: string, port: number): Record<string, string> {
  return { "X-Sandbox-ID": name, "X-Sandbox-Namespace": ns.name, "X-Sandbox-Port": String(port) };
}

/** Asks a sandbox through a router, on a connection of its own, and reads the whole answer. @throws if it breaks off */
export function ask(router: Router, ns: Namespace, name: string, question: Question): Promise<Answered> {
  const { method = "GET", path, body, port } = question;
  const headers = {
    ...naming(ns, name, port),
    ...body === undefined ? {} : { "Content-Length": Buffer.byteLength(body) },
    ...question.headers,
  };
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { host: "127.0.0.1", port: router.port, agent: false, method, path, headers },
      (answer) => {
        const chunks: Uint8Array[] = [];
        answer.on("data", (chunk: Uint8Array) => chunks.push(chunk)).on("error", reject);
        answer.once("end", () => {
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks) });
        });
      },
    );
    outgoing.on("error", reject).end(body);
  });
}

/** Runs a command in a sandbox to its end and returns what it printed. @throws {Error} if it fails */
export async function execute(router: Router, ns: Namespace, name: string, command: string): Promise<string> {
  const { stdout, ...rest } = await post(router, ns, name, COMMANDS, "/execute", { command });
  if (rest.exit_code !== 0) throw new Error(`Cannot execute ${command}: ${JSON.stringify(rest)}`);
  return stdout;
}

/** Starts a command in a sandbox that goes on without anybody. */
export async function startDetached(router: Router, ns: Namespace, name: string, command: string[]): Promise<number> {
  const path = "/hookbox.runtime.v1.ProcessesService/StartDetached";
  return (await post(router, ns, name, FILES, path, { config: { command } })).processId;
}

/** Kills what was started so. */
export async function kill(router: Router, ns: Namespace, name: string, processId: number): Promise<void> {
  await post(router, ns, name, FILES, "/hookbox.runtime.v1.ProcessesService/Kill", { processId });
}

async function post(
  router: Router,
  ns: Namespace,
  name: string,
  port: number,
  path: string,
  message: object,
): Promise<Loose> {
  const question = { method: "POST", port, path, body: JSON.stringify(message) };
  const { status, body } = await ask(router, ns, name, {
    ...question,
    headers: { "Content-Type": "application/json" },
  });
  if (status !== 200) throw new Error(`Cannot post to ${path} of ${name}: ${status} ${body}`);
  return JSON.parse(body.toString());
}
