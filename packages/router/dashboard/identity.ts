/** Finds out whose a token is, by asking the API server with nothing but the token, and remembers it for a while. Lets nobody do anything. @module */
import { createHash } from "node:crypto";
import * as z from "zod";
import type { APIProxy } from "../../kube/apiproxy.ts";
import { createQuestions } from "../access/questions.ts";
import { askerOf, holderOf } from "../access/tokenclaims.ts";
import { createMemory, REVIEWS_AT_ONCE, REVIEWS_PER_SECOND } from "../access/tokenreview.ts";
import type { Refusal } from "../refusal.ts";

/** Whose a token is: a user, or the ServiceAccounts of one namespace. `holder` undefined: the API server does not know it. */
export interface Identity {
  holder: string | undefined;
}

/**
 * Finds out whose a token is that comes from an address: at once, or as soon as the API server says so.
 *
 * @returns 429 where that address has shown too many tokens that are nobody's
 * @throws {Error} if the API server does not say
 */
export type Identify = (token: string, address: string) => Promise<Identity | Refusal> | Identity | Refusal;

/** Tokens that are remembered: those that are somebody's, and as many that are nobody's. */
const MOST_KNOWN = 2048;
/** For how long, in milliseconds. The API server sees them with each request all the same. */
const KNOWN_MS = 60_000;
const UNKNOWN_MS = 5000;
/** How long it may take to say whose one is. */
const REVIEW_MS = 10_000;

const reviewSchema = z.object({ status: z.object({ userInfo: z.object({ username: z.string().min(1) }) }) });

/** Makes it. Tokens are kept as hashes only. */
export function createIdentify(apiProxy: APIProxy): Identify {
  const known = createMemory<Identity | Refusal>(MOST_KNOWN, (identity) => {
    if ("detail" in identity) return undefined;
    const { holder } = identity;
    return { isGood: holder !== undefined, ttlMs: holder === undefined ? UNKNOWN_MS : KNOWN_MS, owner: holder ?? "" };
  });
  const questions = createQuestions({
    perSecond: REVIEWS_PER_SECOND,
    burst: REVIEWS_AT_ONCE,
    detail: "Too many unknown tokens.",
    isPatient: true,
  });
  return (token, address) => {
    const key = createHash("sha256").update(token).digest("base64");
    const ask = async () => ({ holder: await review(apiProxy, token) });
    return known.get(key, performance.now(), () => {
      // Who was known before does not wait behind those who guess.
      return known.wasGood(key) ? ask() : questions(address, ask, ({ holder }) => holder !== undefined);
    });
  };
}

/** Asks whose a token is; undefined: nobody's. @throws {Error} if the API server does not say */
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
  // The token has been checked where its user may not ask that, or where there is no such question before Kubernetes 1.28.
  if (answer.status === 403 || answer.status === 404) return holderOf(token);
  if (answer.status !== 201) throw new Error(`Cannot ask whose a token is: HTTP ${answer.status}`);
  return askerOf(reviewSchema.parse(JSON.parse(text)).status.userInfo.username);
}
