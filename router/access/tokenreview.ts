/** Lets in whom the API server lets connect to the Sandbox. Remembers for a while what it was told. @module */
import { createHash } from "node:crypto";
import type { Api } from "../../kube/api.ts";
import { errorFields, type Log } from "../../lib/log.ts";
import { createBudget } from "../budget.ts";
import type { Refusal } from "../refusal.ts";
import { createMemory, type Worth } from "./cache.ts";
import { type Ask, type Authorise, type Grant, unauthorized } from "./grant.ts";
import { reviewAccess, reviewToken, type User } from "./reviews.ts";

export interface TokenReviewOptions {
  api: Api;
  log: Log;
  /** How long an answer is good for, in milliseconds. */
  ttlMs: number;
  /** Answers that are remembered. */
  cacheSize: number;
  audiences: readonly string[];
  /** False: who shows no token is let in unasked. */
  requiresToken: boolean;
}

/** A denial may be over sooner than a permission: a RoleBinding has just been made. */
const LONGEST_DENIAL_MS = 5000;
/** Unknown tokens from one address, those aside that prove good: each costs the API server a request. */
const REVIEWS_PER_SECOND = 20;
const REVIEWS_AT_ONCE = 100;

type Verdict = { user: User | undefined } | Refusal;

/** Makes the decision of mode tokenreview. Tokens are kept as hashes only. */
export function createTokenReviewAccess(options: TokenReviewOptions): Authorise {
  const { api, log, ttlMs, cacheSize, audiences, requiresToken } = options;
  const worthOf = (isGood: boolean): Worth => ({ isGood, ttlMs: isGood ? ttlMs : Math.min(ttlMs, LONGEST_DENIAL_MS) });
  const users = createMemory<Verdict>(
    cacheSize,
    (verdict) => "detail" in verdict ? { isGood: false, ttlMs: 0 } : worthOf(verdict.user !== undefined),
  );
  const rights = createMemory(cacheSize, worthOf);
  const budget = createBudget(REVIEWS_PER_SECOND, REVIEWS_AT_ONCE);

  const review = (key: string, token: string, address: string) => async (): Promise<Verdict> => {
    // Who was let in before does not wait behind those who guess.
    const wasGood = users.wasGood(key);
    const seconds = wasGood ? 0 : budget(address, performance.now());
    if (seconds > 0) {
      return { status: 429, detail: "Too many unknown tokens.", headers: { "Retry-After": String(seconds) } };
    }
    const user = await reviewToken(api, token, audiences);
    if (user && !wasGood) budget(address, performance.now(), -1);
    return { user };
  };

  function decide({ target: { namespace, name } }: Ask, user: User): Promise<Grant | Refusal> | Grant | Refusal {
    const verdict = (isAllowed: boolean) =>
      isAllowed
        ? { client: `user:${user.username}` }
        : { status: 403, detail: `User ${user.username} may not connect to sandbox ${namespace}/${name}.` };
    const key = JSON.stringify([user.username, user.uid, user.groups, user.extra, namespace, name]);
    const known = rights.get(key, performance.now(), () => reviewAccess(api, user, namespace, name));
    return typeof known === "boolean" ? verdict(known) : known.then(verdict);
  }

  async function slowly(ask: Ask, identified: Promise<Verdict>): Promise<Grant | Refusal> {
    const verdict = await identified;
    if ("detail" in verdict) return verdict;
    return verdict.user ? await decide(ask, verdict.user) : unauthorized(ask.token);
  }

  return (ask) => {
    const { token, address } = ask;
    if (token === undefined) return requiresToken ? unauthorized(token) : { client: `address:${address}` };
    const key = createHash("sha256").update(token).digest("base64");
    const failed = (error: unknown): Refusal => {
      log("error", "Cannot find out who may connect", { ...errorFields(error), stack: undefined });
      return { status: 500, detail: "Cannot find out who may connect: the API server does not say." };
    };
    const verdict = users.get(key, performance.now(), review(key, token, address));
    if (verdict instanceof Promise) return slowly(ask, verdict).catch(failed);
    if ("detail" in verdict) return verdict;
    if (!verdict.user) return unauthorized(token);
    const grant = decide(ask, verdict.user);
    return grant instanceof Promise ? grant.catch(failed) : grant;
  };
}
