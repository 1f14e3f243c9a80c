/** Admits users whom the API server lets connect to the Sandbox, and caches the API server's answers. @module */
import { createHash } from "node:crypto";
import * as z from "zod";
import { answerError, type Api, isOk } from "../../kube/api.ts";
import { errorFields, type Log } from "../../process/log.ts";
import { createShelf } from "../../process/shelf.ts";
import { createBudget } from "../limits.ts";
import { type Refusal, tooMany, unauthorized } from "../refusal.ts";
import type { Ask, Authorise, Grant } from "./gate.ts";
import {
  createMemory,
  createQuestions,
  expiryOf,
  holderOf,
  requesterOf,
  REVIEWS_AT_ONCE,
  REVIEWS_PER_SECOND,
  type Worth,
} from "./reviews.ts";

interface TokenReviewOptions {
  api: Api;
  log: Log;
  /** How long an answer stays in the cache, in milliseconds. */
  authzTokenreviewTtl: number;
  /** Most answers in the cache. */
  authzTokenreviewCacheSize: number;
  authzTokenreviewAudiences: readonly string[];
  /** False: clients without a token are admitted. */
  authzTokenreviewRequireToken: boolean;
}

/** Denials stay in the cache for a shorter time, as somebody may just create the missing RoleBinding. */
const LONGEST_DENIAL_MS = 5000;
/** Limits for names that are not in the cache, allowed or not: a user may have access to all names of a namespace. */
const NAMES_PER_SECOND = 200;
const NAMES_AT_ONCE = 2000;

/** `expires`: as the token says, in seconds since the epoch. */
type Verdict = { user: User | undefined; expires: number | undefined } | Refusal;
type Right = { isAllowed: boolean; requester: string } | Refusal;

/** Makes the decision of mode tokenreview. Of tokens, only hashes are stored. */
export function createTokenReviewAccess(options: TokenReviewOptions): Authorise {
  const { api, log, authzTokenreviewTtl, authzTokenreviewCacheSize, authzTokenreviewAudiences } = options;
  const worthOf = (isGood: boolean, owner: string): Worth => {
    return { isGood, ttlMs: isGood ? authzTokenreviewTtl : Math.min(authzTokenreviewTtl, LONGEST_DENIAL_MS), owner };
  };
  const users = createMemory<Verdict>(authzTokenreviewCacheSize, (verdict) => {
    if ("detail" in verdict) return undefined;
    const worth = worthOf(verdict.user !== undefined, verdict.user ? requesterOf(verdict.user.username) : "");
    const leftMs = (verdict.expires ?? Infinity) * 1000 - Date.now();
    // Uses this machine's clock. If it is ahead of the API server's, nothing is cached and each request is reviewed.
    return { ...worth, ttlMs: Math.min(worth.ttlMs, Math.max(0, leftMs)) };
  });
  const rights = createMemory<Right>(
    authzTokenreviewCacheSize,
    (right) => "detail" in right ? undefined : worthOf(right.isAllowed, right.requester),
  );
  const rate = { perSecond: REVIEWS_PER_SECOND, burst: REVIEWS_AT_ONCE };
  const tokens = createQuestions({ ...rate, detail: "Too many unknown tokens.", isPatient: true });
  /** Holders of tokens that were valid: their new tokens have their own queue, apart from guessed tokens. */
  const holders = createShelf<true>(authzTokenreviewCacheSize);
  const names = createQuestions({ ...rate, detail: "Too many sandboxes that this user may not connect to." });
  const newNames = createBudget(NAMES_PER_SECOND, NAMES_AT_ONCE);

  const review = (key: string, token: string, address: string) => (): Promise<Verdict> => {
    const holder = holderOf(token);
    const ask = async () => {
      const user = await reviewToken(api, token, authzTokenreviewAudiences);
      if (user && holder !== token && holders.get(holder) === undefined) holders.add(holder, true, address);
      return { user, expires: expiryOf(token) };
    };
    // A client that was admitted before does not wait behind clients that guess tokens.
    if (users.wasGood(key)) return ask();
    const line = holders.get(holder) ? `${address} ${holder}` : address;
    return tokens(line, ask, ({ user }) => user !== undefined);
  };

  const reviewRight = (key: string, user: User, namespace: string, name: string) => async (): Promise<Right> => {
    const requester = requesterOf(user.username);
    const ask = async () => ({ isAllowed: await reviewAccess(api, user, namespace, name), requester });
    if (rights.wasGood(key)) return await ask();
    const seconds = newNames(requester, performance.now());
    if (seconds > 0) return tooMany("Too many sandboxes that this user has not asked for lately.", seconds);
    return await names(requester, ask, ({ isAllowed }) => isAllowed);
  };

  function decide(
    { target: { namespace, name } }: Ask,
    user: User,
    expires: number | undefined,
  ): Promise<Grant | Refusal> | Grant | Refusal {
    const verdict = (right: Right) => {
      if ("detail" in right) return right;
      if (right.isAllowed) return { client: `user:${user.username}`, ...(expires === undefined ? {} : { expires }) };
      return { status: 403, detail: `User ${user.username} may not connect to sandbox ${namespace}/${name}.` };
    };
    const key = JSON.stringify([user.username, user.uid, user.groups, user.extra, namespace, name]);
    const known = rights.get(key, performance.now(), reviewRight(key, user, namespace, name));
    return known instanceof Promise ? known.then(verdict) : verdict(known);
  }

  async function slowly(ask: Ask, identified: Promise<Verdict>): Promise<Grant | Refusal> {
    const verdict = await identified;
    if ("detail" in verdict) return verdict;
    return verdict.user ? await decide(ask, verdict.user, verdict.expires) : unauthorized(ask.token);
  }

  return (ask) => {
    const { token, address } = ask;
    if (token === undefined) {
      return options.authzTokenreviewRequireToken ? unauthorized(token) : { client: `address:${address}` };
    }
    const key = createHash("sha256").update(token).digest("base64");
    const failed = (error: unknown): Refusal => {
      log("error", "Cannot find out who may connect", { ...errorFields(error), stack: undefined });
      return { status: 500, detail: "Cannot find out who may connect: the API server does not say." };
    };
    const verdict = users.get(key, performance.now(), review(key, token, address));
    if (verdict instanceof Promise) return slowly(ask, verdict).catch(failed);
    if ("detail" in verdict) return verdict;
    if (!verdict.user) return unauthorized(token);
    const grant = decide(ask, verdict.user, verdict.expires);
    return grant instanceof Promise ? grant.catch(failed) : grant;
  };
}

const userSchema = z.object({
  username: z.string().min(1),
  uid: z.string().optional(),
  groups: z.array(z.string()).optional(),
  extra: z.record(z.string(), z.array(z.string())).optional(),
});
const tokenReviewSchema = z.object({
  status: z.object({
    authenticated: z.boolean().optional(),
    user: userSchema.optional().catch(undefined),
    audiences: z.array(z.string()).optional(),
  }),
});
const accessReviewSchema = z.object({
  status: z.object({ allowed: z.boolean(), denied: z.boolean().optional() }),
});

/** A user that the API server has authenticated. */
export type User = z.infer<typeof userSchema>;

/** The verb that a user needs for the Sandbox: `connect` on `sandboxes` of group `agents.x-k8s.io`. */
const VERB = "connect";

/**
 * Finds the user of a token with a TokenReview.
 *
 * @param audiences the token must be for one of them; `[]`: for the API server
 * @returns undefined: the token is invalid
 * @throws {Error} if the API server gives no answer
 */
async function reviewToken(api: Api, token: string, audiences: readonly string[]): Promise<User | undefined> {
  const answer = await api.send({
    method: "POST",
    path: "/apis/authentication.k8s.io/v1/tokenreviews",
    body: {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token, ...(audiences.length > 0 ? { audiences } : {}) },
    },
  });
  const review = isOk(answer) ? tokenReviewSchema.safeParse(answer.body).data : undefined;
  if (!review) throw answerError("review a token", answer);
  const { authenticated, user, audiences: valid = [] } = review.status;
  // An authenticator without support for audiences returns none: then the token is not for this router.
  const isForUs = audiences.length === 0 || valid.some((audience) => audiences.includes(audience));
  return authenticated === true && isForUs ? user : undefined;
}

/** Finds out whether a user may connect to the Sandbox. @throws {Error} if the API server gives no answer */
async function reviewAccess(api: Api, user: User, namespace: string, name: string): Promise<boolean> {
  const { username, ...rest } = user;
  const resourceAttributes = { verb: VERB, group: "agents.x-k8s.io", resource: "sandboxes", namespace, name };
  const answer = await api.send({
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: { user: username, ...rest, resourceAttributes },
    },
  });
  const review = isOk(answer) ? accessReviewSchema.safeParse(answer.body).data : undefined;
  if (!review) throw answerError("review access to a Sandbox", answer);
  return review.status.allowed && review.status.denied !== true;
}
