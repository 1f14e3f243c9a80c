/**
 * Reads and writes the part of the URL after `#`: what the dashboard shows, so that links and the back button work.
 * @module
 */
import type { Kind } from "../summary/kinds.ts";

/** A kind of hookbox with a list in the dashboard. */
export interface ListedKind extends Pick<Kind, "kind" | "resource"> {
  /** Title of the list; in lower case it is in the URL. */
  title: "Sandboxes" | "Claims" | "Pools" | "Templates";
}

/** The list of the projects of E2B's clients, which are namespaces with a label. */
interface ListedProjects {
  kind: "Project";
  title: "Projects";
}

export type Listed = ListedKind | ListedProjects;

export const KIND_LISTS: readonly ListedKind[] = [
  { kind: "Sandbox", resource: "sandboxes", title: "Sandboxes" },
  { kind: "SandboxClaim", resource: "sandboxclaims", title: "Claims" },
  { kind: "SandboxWarmPool", resource: "sandboxwarmpools", title: "Pools" },
  { kind: "SandboxTemplate", resource: "sandboxtemplates", title: "Templates" },
];
const PROJECTS: ListedProjects = { kind: "Project", title: "Projects" };
export const LISTS: readonly Listed[] = [...KIND_LISTS, PROJECTS];

/** The order of a list. */
export interface Sort {
  /** Header of the column as {@link slugOf} writes it, such as `pod-ip`. */
  column: string;
  isDescending: boolean;
}

/** A list, and the open object in it, if any. */
export interface Route {
  list: Listed;
  /** Namespace of the listed objects, or the only listed project; empty: all namespaces. */
  namespace: string;
  /** Words that each shown row contains; empty: no filter. */
  filter: string;
  /** Names of the only STATUSes that are shown; empty: all. */
  statuses: readonly string[];
  /** undefined: by namespace and name. */
  sort: Sort | undefined;
  /** Both names of a project are those of its namespace. */
  open: { namespace: string; name: string } | undefined;
}

/** Returns the route to a list without a filter, in the default order; add `open` for a link to an object. */
export function listRoute(list: Listed, namespace = ""): Route {
  return { list, namespace, filter: "", statuses: [], sort: undefined, open: undefined };
}

/**
 * Reads a URL's hash: `#/pools?namespace=team-a&filter=gpu&status=Low,Full&sort=-age&open=team-a/python`. A `-` before the
 * column means descending. A project has no namespace in `open`, because it is one. Invalid parts are ignored.
 */
export function routeOf(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const parameters = new URLSearchParams(query);
  const list = LISTS.find(({ title }) => title.toLowerCase() === path) ?? LISTS[0]!;
  const [namespace = "", name = list.kind === "Project" ? namespace : ""] = (parameters.get("open") ?? "").split("/");
  const [, minus, column] = /^(-?)([a-z0-9-]+)$/.exec(parameters.get("sort") ?? "") ?? [];
  return {
    list,
    namespace: parameters.get("namespace") ?? "",
    filter: parameters.get("filter") ?? "",
    statuses: (parameters.get("status") ?? "").split(",").filter(Boolean),
    sort: column === undefined ? undefined : { column, isDescending: minus === "-" },
    open: namespace && name ? { namespace, name } : undefined,
  };
}

/** Writes the hash of a route. */
export function addressOf({ list, namespace, filter, statuses, sort, open }: Route): string {
  const parameters = new URLSearchParams({
    ...namespace === "" ? {} : { namespace },
    ...filter === "" ? {} : { filter },
    ...statuses.length === 0 ? {} : { status: statuses.join(",") },
    ...sort === undefined ? {} : { sort: `${sort.isDescending ? "-" : ""}${sort.column}` },
    ...open === undefined ? {} : { open: list.kind === "Project" ? open.name : `${open.namespace}/${open.name}` },
  });
  const query = parameters.toString().replaceAll("%2F", "/").replaceAll("%2C", ",");
  return `#/${list.title.toLowerCase()}${query && `?${query}`}`;
}

/** Writes the header of a column for {@link Sort}: `POD IP` as `pod-ip`. */
export function slugOf(header: string): string {
  return header.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
}
