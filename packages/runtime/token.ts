/** Checks the bearer token of requests against a mounted file; the token is never logged or returned. @module */
import { createHash, timingSafeEqual } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { deriveRuntimeToken } from "../api/router/scopedtoken.ts";
import { codeOf } from "./confine.ts";

/**
 * Result of checking a request's token.
 *
 * | verdict | meaning |
 * |---|---|
 * | `none` | no token is mounted, so requests cannot be authenticated |
 * | `right` | the request has the token |
 * | `missing`, `wrong` | the request has no token, or another one |
 */
type TokenCheckResult = "none" | "right" | "missing" | "wrong";

/** Checks the value of an `Authorization` header. */
export type TokenCheck = (authorization: string | null | undefined) => Promise<TokenCheckResult>;

const BEARER = /^Bearer +([^\s]+) *$/i;

/**
 * Creates a check against the token in `file`. The file is read for each request, because a mounted Secret changes in
 * place.
 *
 * @param file undefined: there is no token
 * @param required whether a missing file means that no request is allowed, instead of that no token is required
 */
export function createTokenCheck(file: string | undefined, required: boolean): TokenCheck {
  return async (authorization) => {
    const token = file === undefined ? undefined : await readToken(file);
    if (token === undefined && !required) return "none";
    const given = BEARER.exec(authorization ?? "")?.[1];
    if (given === undefined) return "missing";
    // An empty file is a mistake, and must not allow every request.
    return token && timingSafeEqual(digest(given), digest(token)) ? "right" : "wrong";
  };
}

/**
 * Checks the token file once, at the start.
 *
 * @returns whether a token is mounted
 * @throws {Error} if the file cannot be read or is empty, or if it is required and missing
 */
export async function tokenIsMounted(file: string, required: boolean): Promise<boolean> {
  const refuse = (why: string) => new Error(`Cannot use the token in "${file}": ${why}`);
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if (!isAbsent(error)) throw refuse(error instanceof Error ? error.message : String(error));
    if (required) throw refuse("there is no such file");
    return false;
  }
  if (text.trim() === "") throw refuse("the file is empty");
  return true;
}

/**
 * Writes the token of this Pod, for the runtime that starts later. An init container does this: it has the key, and the
 * sandbox gets only the token.
 *
 * @throws {Error} if the key cannot be read or used, or the token cannot be written
 */
export async function writeDerivedToken(keyFile: string, podUID: string, tokenFile: string): Promise<void> {
  try {
    const token = await deriveRuntimeToken(await readFile(keyFile), podUID);
    // Renamed when it is whole, as the container may be stopped and start again.
    await writeFile(`${tokenFile}.new`, token, { mode: 0o444 });
    await rename(`${tokenFile}.new`, tokenFile);
  } catch (error) {
    throw new Error(`Cannot derive a token from "${keyFile}": ${error instanceof Error ? error.message : error}`);
  }
}

function isAbsent(error: unknown): boolean {
  const code = codeOf(error);
  return code === "ENOENT" || code === "ENOTDIR";
}

async function readToken(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    // Any other error, such as a missing permission, must not mean that no token is required.
    return isAbsent(error) ? undefined : "";
  }
}

/** Digests have the same length, so the comparison does not reveal the length of the token. */
function digest(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}
