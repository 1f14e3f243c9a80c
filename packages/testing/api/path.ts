/** Takes the URL paths of the Kubernetes API apart. @module */

/** What a path names; absent parts are not in it. */
export interface RequestPath {
  apiVersion: string;
  /** Absent: the version itself, for discovery. */
  plural?: string;
  namespace?: string;
  name?: string;
  subresource?: string;
}

/** Parts below a namespace's own name that are not a resource in it. */
const OF_NAMESPACE = ["status", "finalize"];

/** Reads a path; undefined if it is none of the API's. */
export function parsePath(path: string): RequestPath | undefined {
  const [, root, ...parts] = path.split("/").map(decodeURIComponent);
  const apiVersion = root === "api" ? parts.shift() : root === "apis" ? parts.splice(0, 2).join("/") : undefined;
  if (!apiVersion || parts.some((part) => part === "")) return undefined;
  const [first, namespace, third = "", ...rest] = parts;
  if (first === "namespaces" && namespace && third && !(OF_NAMESPACE.includes(third) && rest.length === 0)) {
    return { apiVersion, namespace, ...runtimeClient([third, ...rest]) };
  }
  return { apiVersion, ...runtimeClient(parts) };
}

function runtimeClient([plural, name, subresource]: string[]): Pick<RequestPath, "plural" | "name" | "subresource"> {
  return { ...(plural && { plural }), ...(name && { name }), ...(subresource && { subresource }) };
}
