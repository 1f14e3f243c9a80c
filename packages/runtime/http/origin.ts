/** Detects requests of web pages from other origins, which could use a browser to reach the runtime. @module */

/**
 * Returns whether a request comes from a page of another origin than the requested host. Clients other than browsers
 * send no origin.
 *
 * Behind a router, the client requested another host than the runtime sees, so `X-Forwarded-Host` is compared, too. A
 * page cannot set that header itself.
 */
export function isForeign(header: (name: "origin" | "host" | "x-forwarded-host") => string | undefined): boolean {
  const origin = header("origin");
  if (origin === undefined) return false;
  const from = URL.parse(origin)?.host;
  return from === undefined || (from !== header("host") && from !== header("x-forwarded-host"));
}
