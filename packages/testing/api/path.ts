/** Parses URL paths of the Kubernetes API. @module */

/** The parts of a path; absent parts have no field. */
export interface RequestPath {
  apiVersion: string;
  /** Absent: the path is the version itself, for discovery. */
  plural?: string;
  namespace?: string;
  name?: string;
  subresource?: string;
}

/** Subresources of a namespace: all other parts below its name are resources in it. */
const OF_NAMESPACE = ["status", "finalize"];

/** Parses a path; undefined if it is not a path of the API. */
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
