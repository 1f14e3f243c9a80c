/** Finds the user of a token with a SelfSubjectReview, and caches the answer for a while. @module */
import { createHash } from "node:crypto";
import * as z from "zod";
import type { APIProxy } from "../../kube/apiproxy.ts";
import {
  createReviewQueue,
  createVerdictCache,
  holderOf,
  requesterOf,
  REVIEWS_AT_ONCE,
  REVIEWS_PER_SECOND,
} from "../access/reviews.ts";
import type { Refusal } from "../refusal.ts";

/** The holder of a token: a user, or all ServiceAccounts of a namespace. `holder` undefined: the token is invalid. */
interface Identity {
  holder: string | undefined;
}

/**
 * Finds the holder of a token that comes from an address: at once, or when the API server has answered.
 *
 * @returns a refusal with status 429 if the address has sent too many invalid tokens
 * @throws {Error} if the API server gives no answer
 */
type Identify = (token: string, address: string) => Promise<Identity | Refusal> | Identity | Refusal;

/** Size of the cache: valid tokens, and as many invalid ones. */
const MOST_KNOWN = 2048;
/** How long answers are cached, in milliseconds. The API server still checks the token with every request. */
const KNOWN_MS = 60_000;
const UNKNOWN_MS = 5000;
/** Longest wait for the API server's answer, in milliseconds. */
const REVIEW_MS = 10_000;

const reviewSchema = z.object({ status: z.object({ userInfo: z.object({ username: z.string().min(1) }) }) });

/** Creates the function. It stores only hashes of tokens. */
export function createIdentify(apiProxy: APIProxy): Identify {
  const cache = createVerdictCache<Identity | Refusal>(MOST_KNOWN, (identity) => {
    if ("detail" in identity) return undefined;
    const { holder } = identity;
    return { isGood: holder !== undefined, ttlMs: holder === undefined ? UNKNOWN_MS : KNOWN_MS, owner: holder ?? "" };
  });
  const queue = createReviewQueue({
    perSecond: REVIEWS_PER_SECOND,
    burst: REVIEWS_AT_ONCE,
    detail: "Too many unknown tokens.",
    isPatient: true,
  });
  return (token, address) => {
    const key = createHash("sha256").update(token).digest("base64");
    const ask = async () => ({ holder: await review(apiProxy, token) });
    return cache.get(key, performance.now(), () => {
      // A client that was identified before does not wait behind clients that guess tokens.
      return cache.wasGood(key) ? ask() : queue(address, ask, ({ holder }) => holder !== undefined);
    });
  };
}

/** Returns the holder of a token; undefined: the token is invalid. @throws {Error} if the API server gives no answer */
async function review(apiProxy: APIProxy, token: string): Promise<string | undefined> {
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const answer = await apiProxy({
    method: "POST",
    path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    token,
    body: { text: JSON.stringify(body), type: "application/json" },
    signal: AbortSignal.timeout(REVIEW_MS),
  });
  const text = await answer.text();
  if (answer.status === 401) return undefined;
  // These answers show a valid token: its user may not ask this, or Kubernetes is older than 1.28 and has no such API.
  if (answer.status === 403 || answer.status === 404) return holderOf(token);
  if (answer.status !== 201) throw new Error(`Cannot ask whose a token is: HTTP ${answer.status}`);
  return requesterOf(reviewSchema.parse(JSON.parse(text)).status.userInfo.username);
}
