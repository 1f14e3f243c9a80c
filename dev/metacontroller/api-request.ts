/**
 * Sends HTTP requests to an API server over reused connections, and returns JSON unchanged. `@kubernetes/client-node`
 * only provides the credentials: its clients open a connection for each request, and convert times to Dates. @module
 */
import { parseJson } from "../../packages/api/objects/exactjson.ts";
import type { KubeConfig } from "@kubernetes/client-node";
import { Buffer } from "node:buffer";
import { Agent as HttpAgent, type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps, type RequestOptions } from "node:https";
import { StoreError } from "../../packages/testing/store/store.ts";

/** How long to use credentials before they are read again: tokens of plugins expire. */
const CREDENTIALS_MS = 60_000;
const TIMEOUT_MS = 30_000;
/** A watch receives a bookmark about every minute, and the server ends it before this time. */
const IDLE_MS = 400_000;

export interface Requester {
  /**
   * Sends a request and returns the decoded answer.
   *
   * @throws {StoreError} for any status above 299, with the API server's reason
   */
  json(method: string, path: string, body?: unknown): Promise<Record<string, unknown>>;
  /** Reads an answer line by line until it ends or `signal` aborts. Rejects like {@link json}. */
  lines(path: string, signal: AbortSignal, onLine: (line: string) => void): Promise<void>;
}

/** Creates a requester for the current context of a kubeconfig. */
export function createRequester(kubeConfig: KubeConfig): Requester {
  const server = kubeConfig.getCurrentCluster()?.server;
  if (!server) throw new RangeError("Cannot reach a cluster: the kubeconfig has no current context");
  const credentials = rememberCredentials(kubeConfig);
  return {
    async json(method, path, body) {
      const text = body === undefined ? undefined : JSON.stringify(body);
      const answer = await send(new URL(server + path), { ...await credentials(), method, timeout: TIMEOUT_MS }, text);
      return parseJson(await textOf(answer)) as never;
    },
    async lines(path, signal, onLine) {
      const answer = await send(new URL(server + path), { ...await credentials(), signal, timeout: IDLE_MS });
      let rest = "";
      for await (const part of answer.setEncoding("utf8")) {
        const lines = (rest + part).split("\n");
        rest = lines.pop() ?? "";
        lines.forEach(onLine);
      }
    },
  };
}

/** Sends a request and waits for the head of the answer. @throws {StoreError} if the API server refuses the request */
async function send(url: URL, options: RequestOptions, body?: string): Promise<IncomingMessage> {
  const request = url.protocol === "http:" ? requestHttp : requestHttps;
  const content = body !== undefined &&
    { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  const headers = { ...options.headers as object, accept: "application/json", ...content };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent: ClientRequest = request(url, { ...options, headers }, resolve);
    sent.once("error", reject);
    sent.once("timeout", () => sent.destroy(new Error(`Cannot reach API server: no answer for ${url.pathname}`)));
    sent.end(body);
  });
  const status = answer.statusCode ?? 500;
  if (status > 299) throw errorOf(status, await textOf(answer));
  return answer;
}

function rememberCredentials(kubeConfig: KubeConfig): () => Promise<RequestOptions> {
  let agent: RequestOptions["agent"];
  let until = 0;
  let options: RequestOptions = {};
  return async () => {
    if (Date.now() < until) return options;
    const fresh: RequestOptions = {};
    await kubeConfig.applyToHTTPSOptions(fresh);
    agent ??= keptAlive(fresh.agent);
    options = { ...fresh, agent };
    until = Date.now() + CREDENTIALS_MS;
    return options;
  };
}

/** Returns an agent that reuses connections. An agent for a proxy stays unchanged. */
function keptAlive(agent: RequestOptions["agent"]): RequestOptions["agent"] {
  if (typeof agent !== "object") return agent;
  const options = { ...(agent as HttpsAgent).options, keepAlive: true };
  if (agent.constructor === HttpsAgent) return new HttpsAgent(options);
  return agent.constructor === HttpAgent ? new HttpAgent(options) : agent;
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of answer) parts.push(part);
  return Buffer.concat(parts).toString("utf8");
}

function errorOf(status: number, text: string): StoreError {
  try {
    const { reason, message } = JSON.parse(text) as { reason?: string; message?: string };
    return new StoreError(status, reason ?? "Unknown", message ?? text);
  } catch {
    return new StoreError(status, "Unknown", text.slice(0, 200) || `status ${status}`);
  }
}
