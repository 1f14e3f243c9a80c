/**
 * Reads and writes the part of the URL after `#`: what the dashboard shows, so that links and the back button work.
 * @module
 */
import type { Kind } from "../summary/kinds.ts";

/** A kind with a list in the dashboard. */
export interface Listed extends Pick<Kind, "kind" | "resource"> {
  /** Title of the list; in lower case it is in the URL. */
  title: "Sandboxes" | "Claims" | "Pools" | "Templates";
}

export const LISTS: readonly Listed[] = [
  { kind: "Sandbox", resource: "sandboxes", title: "Sandboxes" },
  { kind: "SandboxClaim", resource: "sandboxclaims", title: "Claims" },
  { kind: "SandboxWarmPool", resource: "sandboxwarmpools", title: "Pools" },
  { kind: "SandboxTemplate", resource: "sandboxtemplates", title: "Templates" },
];

/** A list, and the open object in it, if any. */
export interface Route {
  list: Listed;
  /** Namespace of the listed objects; empty: all namespaces. */
  namespace: string;
  open: { namespace: string; name: string } | undefined;
}

/** Reads a URL's hash: `#/pools?namespace=team-a&open=team-a/python`. Invalid parts are ignored. */
export function routeOf(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const parameters = new URLSearchParams(query);
  const [namespace = "", name = ""] = (parameters.get("open") ?? "").split("/");
  return {
    list: LISTS.find(({ title }) => title.toLowerCase() === path) ?? LISTS[0]!,
    namespace: parameters.get("namespace") ?? "",
    open: namespace && name ? { namespace, name } : undefined,
  };
}

/** Writes the hash of a route. */
export function addressOf({ list, namespace, open }: Route): string {
  const parameters = new URLSearchParams({
    ...namespace === "" ? {} : { namespace },
    ...open === undefined ? {} : { open: `${open.namespace}/${open.name}` },
  });
  const query = parameters.toString().replaceAll("%2F", "/");
  return `#/${list.title.toLowerCase()}${query && `?${query}`}`;
}
