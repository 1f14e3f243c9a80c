/** Where in the dashboard somebody is: what the address says behind its `#`, so that links and the back button work. @module */
import type { Kind } from "../summary/kinds.ts";

/** A kind that has a list. */
export interface Listed extends Pick<Kind, "kind" | "resource"> {
  /** What the list is called, and what the address says. */
  title: "Sandboxes" | "Claims" | "Pools" | "Templates";
}

export const LISTS: readonly Listed[] = [
  { kind: "Sandbox", resource: "sandboxes", title: "Sandboxes" },
  { kind: "SandboxClaim", resource: "sandboxclaims", title: "Claims" },
  { kind: "SandboxWarmPool", resource: "sandboxwarmpools", title: "Pools" },
  { kind: "SandboxTemplate", resource: "sandboxtemplates", title: "Templates" },
];

/** A list, and an object of it where one is open. */
export interface Route {
  list: Listed;
  /** Of what is listed; empty: all. */
  namespace: string;
  open: { namespace: string; name: string } | undefined;
}

/** Reads an address: `#/pools?namespace=team-a&open=team-a/python`. Whatever makes no sense is left out. */
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

/** Writes an address. */
export function addressOf({ list, namespace, open }: Route): string {
  const parameters = new URLSearchParams({
    ...namespace === "" ? {} : { namespace },
    ...open === undefined ? {} : { open: `${open.namespace}/${open.name}` },
  });
  const query = parameters.toString().replaceAll("%2F", "/");
  return `#/${list.title.toLowerCase()}${query && `?${query}`}`;
}
