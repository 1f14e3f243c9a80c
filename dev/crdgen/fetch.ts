/** Fetches the definitions that the CRDs embed from a running API server. @module */
import type { IncomingMessage } from "node:http";
import { get, type RequestOptions } from "node:https";
import { text } from "node:stream/consumers";
import { KubeConfig } from "@kubernetes/client-node";
import { kinds } from "./crd.ts";
import { type Definitions, type EmbeddedDefinitions, pickDefinitions } from "./openapi.ts";
import { BUILT_IN, embeddedIn, toOpenAPI } from "./structural.ts";

/** Fetches one JSON document of the API server by its path. */
type GetJSON = (path: string) => Promise<unknown>;

const DOCUMENTS = ["/openapi/v3/api/v1", "/openapi/v3/apis/networking.k8s.io/v1"];

/** Fetches the API server's OpenAPI, and selects what hookbox's kinds embed. */
export async function fetchDefinitions(getJSON: GetJSON): Promise<EmbeddedDefinitions> {
  const { gitVersion } = await getJSON("/version") as { gitVersion: string };
  const all: Definitions = {};
  for (const path of DOCUMENTS) {
    const document = await getJSON(path) as { components: { schemas: Definitions } };
    Object.assign(all, document.components.schemas);
  }
  const roots = kinds.flatMap(({ schema }) => embeddedIn(toOpenAPI(schema)));
  return { kubernetes: gitVersion, definitions: pickDefinitions(all, roots, Object.keys(BUILT_IN)) };
}

/** Fetches without credentials, for example from `kubectl proxy`. */
export function fromServer(server: string): GetJSON {
  return async (path) => {
    const response = await fetch(new URL(path, server));
    if (!response.ok) throw new Error(`Cannot get ${path}: the API server answered ${response.status}`);
    return response.json();
  };
}

/** Fetches with the credentials of the kubeconfig's current context. */
export function fromKubeconfig(file: string): GetJSON {
  const config = new KubeConfig();
  config.loadFromFile(file);
  const server = config.getCurrentCluster()?.server;
  if (!server) throw new Error(`Cannot use ${file}: its current context names no cluster`);
  return async (path) => {
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    return await getOverTLS(new URL(path, server), options);
  };
}

async function getOverTLS(url: URL, options: RequestOptions): Promise<unknown> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, options, resolve).on("error", reject);
  });
  const body = await text(response);
  if (response.statusCode !== 200) {
    throw new Error(`Cannot get ${url.pathname}: the API server answered ${response.statusCode}`);
  }
  return JSON.parse(body);
}
