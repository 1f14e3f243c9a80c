/** Through a router, which finds the sandbox by headers and wakes it. @module */
import { type ObjectRef, UnsupportedError } from "../errors.ts";
import type { SandboxTransport, TransportRequest } from "./transport.ts";
import { send } from "./send.ts";

/** Where the router is, and who we are there. */
export interface RouterAccess {
  /** Without a slash at its end. */
  url: string;
  /** Asked before each request; undefined: none is needed. */
  token?: (() => Promise<string> | string) | undefined;
  /** The router's `--domain`: sandboxes have hosts below it. */
  domain?: string | undefined;
  /** The router's `--path-routing-prefix`, such as `/s`. */
  pathPrefix?: string | undefined;
  /** Whether a browser's cookies go there, and stay. @default same-origin */
  credentials?: TransportRequest["credentials"];
}

/** Makes it for a Sandbox. */
export function createRouterTransport(access: RouterAccess, namespace: string, name: string): SandboxTransport {
  const object: ObjectRef = { kind: "Sandbox", namespace, name };
  return {
    kind: "router",
    async fetch(port, path, { headers, ...request } = {}) {
      const token = await access.token?.();
      const naming = { "X-Sandbox-ID": name, "X-Sandbox-Namespace": namespace, "X-Sandbox-Port": String(port) };
      const authorization: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
      const url = new URL(access.url + path);
      const sent = {
        ...request,
        credentials: access.credentials,
        headers: { ...headers, ...authorization, ...naming },
      };
      return await send(url, sent, { object, what: `the router at ${url.origin}` });
    },
    // deno-lint-ignore require-await -- what it throws is a rejection, as of the other ways
    address: async (port) => addressOf(access, object, port),
    close: () => Promise.resolve(),
  };
}

function addressOf({ url, domain, pathPrefix }: RouterAccess, { namespace, name }: ObjectRef, port: number): URL {
  const base = new URL(url);
  if (domain !== undefined) {
    base.host = `${port}-${name}-${namespace}.${domain}${base.port && !domain.includes(":") ? `:${base.port}` : ""}`;
    return base;
  }
  if (pathPrefix !== undefined) return new URL(`${url}${pathPrefix}/${namespace}/${name}/${port}`);
  const remedy = "Tell the client the router's domain or path prefix: `routerDomain`, `routerPathPrefix`.";
  throw new UnsupportedError(
    `Cannot make an address of port ${port}: the router at ${url} finds sandboxes by headers alone`,
    { remedy },
  );
}
