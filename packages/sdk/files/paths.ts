/** Handles paths of files in a sandbox, and encodes them for URLs. @module */
import { encodeName } from "../../process/filenames.ts";
import { InvalidArgumentError } from "../errors.ts";

/**
 * Returns the URL path of a request to `/v1/<endpoint>/{path}`.
 *
 * @throws {@link InvalidArgumentError} if a URL cannot contain the path
 */
export function endpointPath(endpoint: string, path: string, query: Record<string, string | undefined> = {}): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
  const search = given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
  return `/v1/${endpoint}/${encodedPath(path)}${search}`;
}

function encodedPath(path: string): string {
  if (path === "." || path === "./") return "";
  try {
    // The path is one URL segment, with encoded slashes. Otherwise URL parsers would change ".." and "a//b".
    return encodeName(path === ".." ? "./.." : path);
  } catch {
    throw new InvalidArgumentError(`Cannot use the path ${JSON.stringify(path)}: it is not Unicode text`);
  }
}

/** Appends a name to the path of a folder. */
export function joinPath(folder: string, name: string): string {
  if (folder === "" || folder === "." || folder === "./") return name;
  return folder.endsWith("/") ? folder + name : `${folder}/${name}`;
}

/** Returns the last part of a path; "" for the root. */
export function nameOf(path: string): string {
  const name = path.replace(/\/+$/, "").split("/").at(-1) ?? "";
  return name === "." ? "" : name;
}

/** Returns the path of the parent folder; "" for the root and for names directly below it. */
export function folderOf(path: string): string {
  return path.replace(/\/+$/, "").split("/").slice(0, -1).join("/") || (/^\/+[^/]/.test(path) ? "/" : "");
}
