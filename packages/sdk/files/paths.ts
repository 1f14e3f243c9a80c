/** Paths of files in a sandbox, and how they stand in a URL. Pure. @module */
import { encodeName } from "../../process/filenames.ts";
import { InvalidArgumentError } from "../errors.ts";

/** The path of a request to `/v1/<endpoint>/{path}`. @throws {@link InvalidArgumentError} if no URL can hold it */
export function endpointPath(endpoint: string, path: string, query: Record<string, string | undefined> = {}): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
  const search = given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
  return `/v1/${endpoint}/${encodedPath(path)}${search}`;
}

function encodedPath(path: string): string {
  if (path === "." || path === "./") return "";
  try {
    // One whole segment, slashes encoded: a URL would take "..", and "a//b", for something else.
    return encodeName(path === ".." ? "./.." : path);
  } catch {
    throw new InvalidArgumentError(`Cannot use the path ${JSON.stringify(path)}: it is not Unicode text`);
  }
}

/** Puts a name below a folder. */
export function joinPath(folder: string, name: string): string {
  if (folder === "" || folder === "." || folder === "./") return name;
  return folder.endsWith("/") ? folder + name : `${folder}/${name}`;
}

/** The last name of a path; "" for the root. */
export function nameOf(path: string): string {
  const name = path.replace(/\/+$/, "").split("/").at(-1) ?? "";
  return name === "." ? "" : name;
}

/** The folder that a path lies in; "" for the root and what lies in it. */
export function folderOf(path: string): string {
  return path.replace(/\/+$/, "").split("/").slice(0, -1).join("/") || (/^\/+[^/]/.test(path) ? "/" : "");
}
