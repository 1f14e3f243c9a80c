/** A small client for the few requests that are needed to start a cluster. @module */
import { Agent, request } from "node:https";

export interface ApiAccess {
  server: string;
  /** PEM of the certificate authority. */
  ca: string;
  token: string;
}

export interface ApiAnswer {
  status: number;
  body: string;
}

/** Idle connections do not keep this process running. */
const CONNECTIONS = new Agent({ keepAlive: true, maxSockets: 16 });

/**
 * Sends one request.
 *
 * @param path for example `/api/v1/nodes`
 * @param body JSON; absent: no body
 */
export function callApi(access: ApiAccess, method: string, path: string, body?: unknown): Promise<ApiAnswer> {
  const headers = { authorization: `Bearer ${access.token}`, "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const sent = request(
      new URL(path, access.server),
      { method, headers, ca: access.ca, agent: CONNECTIONS, timeout: 10_000 },
      (answer) => {
        let text = "";
        answer.setEncoding("utf8");
        answer.on("data", (part: string) => text += part);
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, body: text }));
        answer.on("error", reject);
      },
    );
    sent.on("timeout", () => sent.destroy(new Error(`no answer to ${method} ${path} in ten seconds`)));
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/**
 * Creates an object. If it already exists, it stays unchanged.
 *
 * @throws {Error} if the API server refuses
 */
export async function createObject(access: ApiAccess, path: string, object: unknown): Promise<void> {
  const { status, body } = await callApi(access, "POST", path, object);
  if (status >= 300 && status !== 409) throw new Error(`Cannot create an object under ${path}: ${status} ${body}`);
}

/** Reads an object or a list; undefined: it does not exist. */
export async function readObject<T>(access: ApiAccess, path: string): Promise<T | undefined> {
  const { status, body } = await callApi(access, "GET", path);
  if (status === 404) return undefined;
  if (status >= 300) throw new Error(`Cannot read ${path}: ${status} ${body}`);
  return JSON.parse(body);
}
