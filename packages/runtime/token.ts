/** The bearer token that guards a sandbox, read from a mounted file; never logged, never in an answer. @module */
import { createHash, timingSafeEqual } from "node:crypto";
import { readFile } from "node:fs/promises";
import { codeOf } from "./confine.ts";

/**
 * What a token file says about a request.
 *
 * | verdict | meaning |
 * |---|---|
 * | `none` | no token is mounted: nobody can be told from anybody |
 * | `right` | the request has the token |
 * | `missing`, `wrong` | it has none, or another one |
 */
export type Verdict = "none" | "right" | "missing" | "wrong";

/** Judges the value of an `Authorization` header. */
export type TokenCheck = (authorization: string | null | undefined) => Promise<Verdict>;

const BEARER = /^Bearer +([^\s]+) *$/i;

/**
 * Makes the check against the token in `file`. The file is read for each request: a mounted Secret changes in place.
 *
 * @param file undefined: there is none
 * @param required a missing file counts as a token that nobody has, not as no token
 */
export function createTokenCheck(file: string | undefined, required: boolean): TokenCheck {
  return async (authorization) => {
    const token = file === undefined ? undefined : await readToken(file);
    if (token === undefined && !required) return "none";
    const given = BEARER.exec(authorization ?? "")?.[1];
    if (given === undefined) return "missing";
    // An empty file is a mistake: it must not open the door.
    return token && timingSafeEqual(digest(given), digest(token)) ? "right" : "wrong";
  };
}

/**
 * Looks at the token file once, before anybody is let in or not.
 *
 * @returns whether there is one
 * @throws {Error} if it cannot be read or is empty, or is missing and required
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

function isAbsent(error: unknown): boolean {
  const code = codeOf(error);
  return code === "ENOENT" || code === "ENOTDIR";
}

async function readToken(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    // Anything but "there is none" (no right to read it, a folder) fails closed.
    return isAbsent(error) ? undefined : "";
  }
}

/** Digests are equally long, so comparing them tells nothing about the lengths of the tokens. */
function digest(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}
