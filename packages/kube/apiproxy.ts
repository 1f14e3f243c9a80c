/** Forwards requests of users to the API server, with their tokens and without hookbox's own credentials. @module */
import type { Credentials, Pass } from "./credentials.ts";
import { createSend, type Incoming } from "./transport.ts";

/** A request of a user. */
export interface ProxiedRequest {
  method: string;
  /** With the query; begins with a slash. */
  path: string;
  /** The user's token: the API server decides what this user may do. */
  token: string;
  /** The body and its content type; undefined: no body. */
  body: { text: string; type: string } | undefined;
  signal: AbortSignal;
}

/** @throws {Error} only if no answer comes */
export type APIProxy = (request: ProxiedRequest) => Promise<Incoming>;

/** Creates the function that forwards requests. Of hookbox's credentials, it uses only the server's address and its CA. */
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

/**
 * Removes the client certificate, which would authenticate as hookbox. For the same reason, the agent is left out: it
 * may hold one.
 */
function withoutIdentity({ ca, rejectUnauthorized, servername }: Pass["tls"]): Pass["tls"] {
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
    ...(servername === undefined ? {} : { servername }),
  };
}
