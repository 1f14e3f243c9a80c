/** Sends requests through a router, which finds the sandbox by headers and resumes it. @module */
import { InvalidArgumentError, type ObjectRef, UnsupportedError } from "../errors.ts";
import { send } from "./send.ts";
import type { SandboxTransport, TransportRequest } from "./transport.ts";

/** URL of the router, and the token for it. */
export interface RouterAccess {
  /** Without a slash at the end. */
  url: string;
  /** Called before each request. Undefined: no token is needed. */
  token?: (() => Promise<string> | string) | undefined;
  /** The router's option `--domain`; hosts of sandboxes are subdomains of it. */
  domain?: string | undefined;
  /** The router's option `--path-routing-prefix`, such as `/s`. */
  pathPrefix?: string | undefined;
  /** Whether a browser sends cookies to the router and stores its cookies. @default same-origin */
  credentials?: TransportRequest["credentials"];
  /** @default the global `fetch` */
  fetch?: ((url: URL, request: RequestInit) => Promise<Response>) | undefined;
}

/** Creates the transport to a Sandbox. */
export function createRouterTransport(access: RouterAccess, namespace: string, name: string): SandboxTransport {
  const object: ObjectRef = { kind: "Sandbox", namespace, name };
  return {
    kind: "router",
    async fetch(port, path, { headers, ...request } = {}) {
      const given = await access.token?.();
      const token = given === undefined ? undefined : usableToken(given);
      const naming = { "X-Sandbox-ID": name, "X-Sandbox-Namespace": namespace, "X-Sandbox-Port": String(port) };
      const authorization: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
      const url = new URL(access.url + path);
      const sent = {
        ...request,
        credentials: access.credentials,
        headers: { ...headers, ...authorization, ...naming },
      };
      return await send(url, sent, { object, what: `the router at ${url.origin}` }, access.fetch);
    },
    // deno-lint-ignore require-await -- what it throws is a rejection, as of the other ways
    address: async (port) => addressOf(access, object, port),
    close: () => Promise.resolve(),
  };
}

/** @throws {InvalidArgumentError} without the token, which an error of `fetch` would contain */
function usableToken(given: string): string {
  // Files and variables often end with a line break.
  const token = given.trim();
  if (/^[\x21-\x7e]*$/.test(token)) return token;
  throw new InvalidArgumentError(
    "Cannot use the token for the router: a token has no spaces, no line breaks, and only ASCII characters",
  );
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
