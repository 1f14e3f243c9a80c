/** Passes requests of others on to the API server: with their token, and with nothing of ours. Decides nothing. @module */
import type { Credentials, Pass } from "./credentials.ts";
import { createSend, type Incoming } from "./transport.ts";

/** A request of somebody else. */
export interface ProxiedRequest {
  method: string;
  /** With its query; begins with a slash. */
  path: string;
  /** Who asks: the API server decides what that user may. */
  token: string;
  /** The body and its type; undefined: none. */
  body: { text: string; type: string } | undefined;
  signal: AbortSignal;
}

/** @throws {Error} only if no answer comes */
export type APIProxy = (request: ProxiedRequest) => Promise<Incoming>;

/** Makes what passes them on. Of our credentials it takes where the API server is, and how to know it. */
export function createAPIProxy({ server, current }: Credentials, userAgent: string): APIProxy {
  const send = createSend();
  let ours: Pass | undefined;
  let nobodys: Pass = { headers: {}, tls: {} };
  return async ({ method, path, token, body, signal }) => {
    const pass = await current();
    if (pass !== ours) {
      ours = pass;
      nobodys = { headers: {}, tls: withoutIdentity(pass.tls) };
    }
    const headers = {
      Accept: "*/*",
      Authorization: `Bearer ${token}`,
      "User-Agent": userAgent,
      ...(body === undefined ? {} : { "Content-Type": body.type }),
    };
    return await send({ url: `${server}${path}`, method, headers, text: body?.text, signal }, nobodys);
  };
}

/** A client certificate would be us; an agent may hold one. */
function withoutIdentity({ ca, rejectUnauthorized, servername }: Pass["tls"]): Pass["tls"] {
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
    ...(servername === undefined ? {} : { servername }),
  };
}
