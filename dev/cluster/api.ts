/** Sends the few requests that are needed to start a cluster, and creates its CustomResourceDefinitions. @module */
import { Agent, request } from "node:https";
import { parseAllDocuments } from "yaml";
import { waitUntil } from "./processes.ts";

export interface ApiAccess {
  server: string;
  /** PEM of the certificate authority. */
  ca: string;
  token: string;
}

interface ApiAnswer {
  status: number;
  body: string;
}

/** Idle connections do not keep this process running. */
const CONNECTIONS = new Agent({ keepAlive: true, maxSockets: 16 });

const CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

interface Definition {
  kind?: string;
  metadata: { name: string };
  status?: { conditions?: { type: string; status: string }[] };
}

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

/** Returns the CustomResourceDefinitions in YAML or JSON texts. Other documents are ignored. */
export function definitionsIn(texts: string[]): Definition[] {
  const documents = texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as Definition));
  return documents.filter((document) => document?.kind === "CustomResourceDefinition");
}

/** Creates the definitions in the texts and waits until the API server serves them. */
export async function createDefinitions(access: ApiAccess, texts: string[], signal?: AbortSignal): Promise<void> {
  const definitions = definitionsIn(texts);
  await Promise.all(definitions.map((definition) => createObject(access, CRD_PATH, definition)));
  const isServed = async ({ metadata }: Definition) => {
    const found = await readObject<Definition>(access, `${CRD_PATH}/${metadata.name}`);
    return (found?.status?.conditions ?? []).some(({ type, status }) => type === "Established" && status === "True");
  };
  const probe = async () => (await Promise.all(definitions.map(isServed))).every(Boolean);
  await waitUntil({ what: "serving CustomResourceDefinitions", probe, needs: [], timeoutSeconds: 30, signal });
}
