/** Checks bearer tokens of requests against a file, which is read again for each request. @module */
import { createHash, timingSafeEqual } from "node:crypto";
import { readFile } from "node:fs/promises";
import { readingFile } from "../../files.ts";

/** Result of checking a request's credentials. */
export type Verdict =
  /** `owner` is different for each token. A session can be used only by its owner. */
  | { owner: string }
  /** Value of the header WWW-Authenticate of the response. Source: RFC 6750, section 3. */
  | { challenge: string };

/** Checks the value of an `Authorization` header. */
export type Authenticate = (authorization: string | undefined) => Promise<Verdict>;

const BEARER = /^Bearer +([^\s]+) *$/i;
const LEAST_CHARACTERS = 16;
const REALM = 'Bearer realm="hookbox"';

/** Allows every request. Only for loopback addresses. */
export const anybody: Authenticate = () => Promise.resolve({ owner: "anybody" });

/**
 * Creates a check against the tokens in a file, one per line, so that tokens can be rotated.
 *
 * @throws {Failure} if the file cannot be read, {RangeError} if it contains no token, or one that is easy to guess
 */
export async function tokensIn(file: string): Promise<Authenticate> {
  const first = await readingFile(file, () => readTokens(file));
  if (first.length === 0) throw new RangeError(`Cannot use the tokens in ${file}: there are none`);
  if (first.some(isWeak)) {
    throw new RangeError(`Cannot use the tokens in ${file}: one is shorter than ${LEAST_CHARACTERS} characters`);
  }
  return async (authorization) => {
    if (authorization === undefined) return { challenge: REALM };
    const given = digest(BEARER.exec(authorization)?.[1] ?? "");
    // If the file cannot be read, no token is accepted.
    const known = (await readTokens(file).catch(() => [])).filter((token) => !isWeak(token)).map(digest);
    // All tokens are compared, so that the duration does not reveal which one matches.
    const [match] = known.filter((token) => timingSafeEqual(token, given));
    if (match) return { owner: match.toString("base64url") };
    return { challenge: `${REALM}, error="invalid_token", error_description="The token is not known"` };
  };
}

async function readTokens(file: string): Promise<string[]> {
  return (await readFile(file, "utf8")).split("\n").map((line) => line.trim()).filter(Boolean);
}

function isWeak(token: string): boolean {
  return token.length < LEAST_CHARACTERS;
}

/** Digests have the same length, so comparing them reveals nothing about the tokens. */
function digest(token: string) {
  return createHash("sha256").update(token).digest();
}
