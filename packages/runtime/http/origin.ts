/** Pages of other sites: a browser that reaches the runtime must not lend them its way in. Pure. @module */

/**
 * Tells whether a request comes from a page of another origin than the one that it asks. What is no browser names none.
 *
 * Behind a router the client asked for another host than the runtime sees; no page can set that header by itself.
 */
export function isForeign(header: (name: "origin" | "host" | "x-forwarded-host") => string | undefined): boolean {
  const origin = header("origin");
  if (origin === undefined) return false;
  const from = URL.parse(origin)?.host;
  return from === undefined || (from !== header("host") && from !== header("x-forwarded-host"));
}
