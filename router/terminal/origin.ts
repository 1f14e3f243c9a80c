/** What a sandbox is told of the page that asks it for another protocol. Pure. @module */
import type { IncomingMessage } from "node:http";
import { type BrowserOptions, credentialsOf, isForeign } from "../access/credentials.ts";
import type { Route } from "../destination/route.ts";

/**
 * Returns the Origin header for the sandbox, flat; none for pages that may do what the sandbox's own may.
 *
 * | who asks | told |
 * |---|---|
 * | the sandbox's own page, or one of an allowed origin | no |
 * | a program, or a page of another origin, with a token that has been checked | no |
 * | a page of another origin, with nothing of its own to show | yes |
 *
 * A runtime refuses the last: whoever has a router open that lets everybody in would lend his way in to any site.
 *
 * @param isOpen tokens are not looked at: only what no page can send tells a program from a page
 */
export function foreignOrigin(
  request: IncomingMessage,
  route: Route,
  browser: BrowserOptions,
  isOpen: boolean,
): string[] {
  if (!isForeign(request, browser)) return [];
  const { source } = credentialsOf(request, route, browser);
  if (source === "header" || (source === "query" && !isOpen)) return [];
  return ["Origin", request.headers.origin ?? "null"];
}
