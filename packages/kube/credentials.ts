/** Finds the API server and the credentials for it, in a kubeconfig or in the Pod in which the process runs. @module */
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { Agent } from "node:http";
import type { RequestOptions } from "node:https";
import { dirname, resolve } from "node:path";
import process from "node:process";
import type { ConnectionOptions } from "node:tls";
import type { Json } from "../api/objects/json.ts";
import { readKubeconfig } from "./kubeconfig.ts";

/** An API server and the credentials for it. */
export interface Credentials {
  /** URL without a trailing slash. */
  server: string;
  /** The context's namespace, or the Pod's; undefined if it has none. */
  namespace: string | undefined;
  /** Returns what the next request needs; the same object as long as nothing has changed. */
  current(): Promise<Pass>;
}

/** Headers and TLS options of a request. */
export interface Pass {
  headers: Record<string, string>;
  tls: Pick<ConnectionOptions, "ca" | "cert" | "key" | "rejectUnauthorized" | "servername">;
  /** Set only if a proxy needs an agent of its own. */
  agent?: Agent;
}

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
/** How often to read the files again: tokens and certificates are replaced while the process runs. */
const REREAD_MS = 60_000;

/** The fields of a cluster that are handled here. If a cluster has others, client-node handles it. */
const CLUSTER_FIELDS = {
  "server": "string",
  "certificate-authority": "string",
  "certificate-authority-data": "string",
  "insecure-skip-tls-verify": "boolean",
  "tls-server-name": "string",
} as const;
/** As {@link CLUSTER_FIELDS}, of a user. */
const USER_FIELDS = {
  "token": "string",
  "tokenFile": "string",
  "client-certificate": "string",
  "client-certificate-data": "string",
  "client-key": "string",
  "client-key-data": "string",
} as const;

type Fields = Record<string, "string" | "boolean">;
/** An object that has only these fields. */
type Plain<T extends Fields> = { [key in keyof T]?: T[key] extends "string" ? string : boolean };

function isPlain<T extends Fields>(content: Json, fields: T): content is Plain<T> {
  return Object.entries(content).every(([key, value]) => Object.hasOwn(fields, key) && typeof value === fields[key]);
}

/** The kubeconfig and context that a command line names. */
export interface KubeconfigOptions {
  kubeconfig: string | undefined;
  context: string | undefined;
}

/** Returns the credentials for a command line: those of `kubeconfig`, or without one, those of the Pod. */
export async function clusterCredentials(options: KubeconfigOptions): Promise<Credentials> {
  const { kubeconfig, context } = options;
  return kubeconfig === undefined ? podCredentials() : await kubeconfigCredentials(kubeconfig, context);
}

/** Reads the ServiceAccount that Kubernetes mounts into every Pod. @throws if this is not a Pod */
export function podCredentials(folder = SERVICE_ACCOUNT, environment = process.env): Credentials {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = "443" } = environment;
  if (!host) throw new Error("Cannot find the API server: this is not a Pod, and no --kubeconfig is given");
  const server = `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const read = () => ({
    headers: { Authorization: `Bearer ${readFileSync(`${folder}/token`, "utf8").trim()}` },
    tls: { ca: readFileSync(`${folder}/ca.crt`) },
  });
  return { server, namespace: readFileSync(`${folder}/namespace`, "utf8").trim(), current: remembered(read) };
}

/**
 * Reads a kubeconfig: the named context, or its current one.
 *
 * Plain tokens and certificates are handled here. Everything else (exec plugins, proxies, …) is left to client-node,
 * which is loaded only then, because it costs 60 MiB.
 *
 * @throws if the file cannot be read or lacks the context, its cluster or its user
 */
export async function kubeconfigCredentials(path: string, context?: string): Promise<Credentials> {
  const { current, clusters, users, contexts } = await readKubeconfig(path);
  const name = context ?? current ?? "";
  const { cluster: clusterName, user: userName, namespace } = pick(contexts(), name, `in ${path} the context`);
  const cluster = pick(clusters(), clusterName, `in ${path} the cluster`).content;
  // Without a user, requests have no credentials, as with kubectl.
  const user = userName ? pick(users(), userName, `in ${path} the user`).content : {};
  const isHandled = isPlain(cluster, CLUSTER_FIELDS) && isPlain(user, USER_FIELDS);
  if (!isHandled || cluster.server === undefined) return await clientNodeCredentials(path, name, namespace);
  const read = () => plainPass(cluster, user, dirname(path));
  return { server: trimmed(cluster.server), namespace, current: remembered(read) };
}

function pick<T extends { name: string }>(list: T[], name: string, what: string): T {
  const found = list.find((entry) => entry.name === name);
  if (found) return found;
  const names = list.map((entry) => `"${entry.name}"`).join(", ");
  throw new Error(`Cannot find ${what} "${name}": there is ${names || "none"}`);
}

function plainPass(cluster: Plain<typeof CLUSTER_FIELDS>, user: Plain<typeof USER_FIELDS>, folder: string): Pass {
  const read = (key: "ca" | "cert" | "key", file: string | undefined, data: string | undefined) => {
    if (data) return { [key]: Buffer.from(data, "base64") };
    return file ? { [key]: readFileSync(resolve(folder, file)) } : {};
  };
  const token = user.tokenFile ? readFileSync(resolve(folder, user.tokenFile), "utf8").trim() : user.token;
  const servername = cluster["tls-server-name"];
  return {
    headers: token ? { Authorization: `Bearer ${token}` } : {},
    tls: {
      ...read("ca", cluster["certificate-authority"], cluster["certificate-authority-data"]),
      ...read("cert", user["client-certificate"], user["client-certificate-data"]),
      ...read("key", user["client-key"], user["client-key-data"]),
      ...(servername ? { servername } : {}),
      rejectUnauthorized: cluster["insecure-skip-tls-verify"] !== true,
    },
  };
}

async function clientNodeCredentials(path: string, context: string, namespace: string | undefined) {
  const { KubeConfig } = await loadClientNode();
  const config = new KubeConfig();
  config.loadFromFile(path);
  config.setCurrentContext(context);
  const cluster = config.getCurrentCluster();
  const current = async (): Promise<Pass> => {
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    const { headers, auth, agent, ca, cert, key, rejectUnauthorized, servername } = options;
    const tls = { ca, cert, key, rejectUnauthorized, servername };
    const given = Object.entries(tls).filter(([, value]) => value !== undefined);
    return {
      headers: {
        ...(headers as Record<string, string>),
        ...(auth ? { Authorization: `Basic ${Buffer.from(auth).toString("base64")}` } : {}),
      },
      tls: Object.fromEntries(given),
      ...(cluster?.proxyUrl && agent instanceof Agent ? { agent } : {}),
    };
  };
  return { server: trimmed(cluster?.server ?? ""), namespace, current };
}

function trimmed(server: string): string {
  return server.replace(/\/$/, "");
}

function remembered<T>(read: () => T): () => Promise<T> {
  let value: T | undefined;
  let readAt = -Infinity;
  return () => {
    // Use the monotonic clock: if the wall clock is set back, an expired token must not stay in use.
    const now = performance.now();
    if (value === undefined || now - readAt > REREAD_MS) [value, readAt] = [read(), now];
    return Promise.resolve(value);
  };
}

/** The import is inside `try`, so that a bundler omits the package from a program that has not installed it. */
async function loadClientNode(): Promise<typeof import("@kubernetes/client-node")> {
  try {
    return await import("@kubernetes/client-node");
  } catch (cause) {
    const why = "its user logs in by a plugin, which takes the package @kubernetes/client-node; install that too";
    throw new Error(`Cannot use the kubeconfig: ${why}`, { cause });
  }
}
