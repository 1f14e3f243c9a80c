/** Who may talk to the server: bearer tokens from a file, which is read anew for every request. @module */
import { createHash, timingSafeEqual } from "node:crypto";
import { readFile } from "node:fs/promises";
import { readingFile } from "../../files.ts";

/** What a request's credentials come to. */
export type Verdict =
  /** `owner` tells those apart who have different tokens; sessions are theirs alone. */
  | { owner: string }
  /** Value of the answer's WWW-Authenticate. Source: RFC 6750, section 3. */
  | { challenge: string };

/** Judges the value of an `Authorization` header. */
export type Authenticate = (authorization: string | undefined) => Promise<Verdict>;

const BEARER = /^Bearer +([^\s]+) *$/i;
const LEAST_CHARACTERS = 16;
const REALM = 'Bearer realm="hookbox"';

/** Lets everybody in. For loopback alone. */
export const anybody: Authenticate = () => Promise.resolve({ owner: "anybody" });

/**
 * Makes the check against the tokens in a file, one in each line, so that one can take over from another.
 *
 * @throws {Failure} if it cannot be read, {RangeError} if it has no token or one that could be guessed
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
    // A file that cannot be read lets nobody in.
    const known = (await readTokens(file).catch(() => [])).filter((token) => !isWeak(token)).map(digest);
    // All are compared, whichever fits: how long it takes says nothing.
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

/** Digests are equally long, so comparing them tells nothing of the tokens. */
function digest(token: string) {
  return createHash("sha256").update(token).digest();
}
