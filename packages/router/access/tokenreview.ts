/** Admits users whom the API server lets connect to the Sandbox, and caches the API server's answers. @module */
import { createHash } from "node:crypto";
import * as z from "zod";
import { ROUTER_AUDIENCE } from "../../api/installation.ts";
import { subjectOf } from "../../api/shellwords.ts";
import { ACCESS_DENIED, REASON_HEADER } from "../../api/router/protocol.ts";
import { answerError, type Api, isOk } from "../../kube/api.ts";
import { errorFields, type Log } from "../../process/log.ts";
import { createSharedCache } from "../../process/sharedcache.ts";
import { createRateLimit } from "../limits.ts";
import { type Refusal, tooMany, unauthorized } from "../refusal.ts";
import type { AccessGrant, AccessRequest, Authorise } from "./gate.ts";
import {
  type CacheRule,
  claimsAudience,
  createReviewQueue,
  createVerdictCache,
  expiryOf,
  holderOf,
  requesterOf,
  REVIEWS_AT_ONCE,
  REVIEWS_PER_SECOND,
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

const VALID = "a token of a user or ServiceAccount that may connect to this Sandbox. See docs/clients.md";
/** Denials stay in the cache for a shorter time, as somebody may just create the missing RoleBinding. */
const LONGEST_DENIAL_MS = 5000;
/** Limits for names that are not in the cache, allowed or not: a user may have access to all names of a namespace. */
const NAMES_PER_SECOND = 200;
const NAMES_AT_ONCE = 2000;

/** `expires`: as the token says, in seconds since the epoch. */
type TokenVerdict = { user: User | undefined; expires: number | undefined } | Refusal;
type AccessVerdict = { isAllowed: boolean; requester: string } | Refusal;

/** Creates the decision of mode tokenreview. It stores only hashes of tokens. */
export function createTokenReviewAccess(options: TokenReviewOptions): Authorise {
  const { api, log, authzTokenreviewTtl, authzTokenreviewCacheSize, authzTokenreviewAudiences } = options;
  const ruleOf = (isGood: boolean, owner: string): CacheRule => {
    return { isGood, ttlMs: isGood ? authzTokenreviewTtl : Math.min(authzTokenreviewTtl, LONGEST_DENIAL_MS), owner };
  };
  const userCache = createVerdictCache<TokenVerdict>(authzTokenreviewCacheSize, (verdict) => {
    if ("detail" in verdict) return undefined;
    const rule = ruleOf(verdict.user !== undefined, verdict.user ? requesterOf(verdict.user.username) : "");
    const leftMs = (verdict.expires ?? Infinity) * 1000 - Date.now();
    // Uses this machine's clock. If it is ahead of the API server's, nothing is cached and each request is reviewed.
    return { ...rule, ttlMs: Math.min(rule.ttlMs, Math.max(0, leftMs)) };
  });
  const accessCache = createVerdictCache<AccessVerdict>(
    authzTokenreviewCacheSize,
    (access) => "detail" in access ? undefined : ruleOf(access.isAllowed, access.requester),
  );
  const rate = { perSecond: REVIEWS_PER_SECOND, burst: REVIEWS_AT_ONCE };
  const tokenQueue = createReviewQueue({ ...rate, detail: "Too many unknown tokens.", isPatient: true });
  /** Holders of tokens that were valid: their new tokens have their own queue, apart from guessed tokens. */
  const knownHolders = createSharedCache<true>(authzTokenreviewCacheSize);
  const nameQueue = createReviewQueue({ ...rate, detail: "Too many sandboxes that this user may not connect to." });
  const nameRate = createRateLimit(NAMES_PER_SECOND, NAMES_AT_ONCE);

  const review = (key: string, token: string, address: string) => (): Promise<TokenVerdict> => {
    const holder = holderOf(token);
    const ask = async () => {
      const isOnlyForUs = authzTokenreviewAudiences.length === 0 && claimsAudience(token, ROUTER_AUDIENCE);
      const user = await reviewToken(api, token, isOnlyForUs ? [ROUTER_AUDIENCE] : authzTokenreviewAudiences);
      if (user && holder !== token && knownHolders.get(holder) === undefined) knownHolders.add(holder, true, address);
      return { user, expires: expiryOf(token) };
    };
    // A client that was admitted before does not wait behind clients that guess tokens.
    if (userCache.wasGood(key)) return ask();
    const requester = knownHolders.get(holder) ? `${address} ${holder}` : address;
    return tokenQueue(requester, ask, ({ user }) => user !== undefined);
  };

  const reviewOfAccess =
    (key: string, user: User, namespace: string, name: string) => async (): Promise<AccessVerdict> => {
      const requester = requesterOf(user.username);
      const ask = async () => ({ isAllowed: await reviewAccess(api, user, namespace, name), requester });
      if (accessCache.wasGood(key)) return await ask();
      const seconds = nameRate(requester, performance.now());
      if (seconds > 0) return tooMany("Too many sandboxes that this user has not asked for lately.", seconds);
      return await nameQueue(requester, ask, ({ isAllowed }) => isAllowed);
    };

  function decide(
    { target: { namespace, name } }: AccessRequest,
    user: User,
    expires: number | undefined,
  ): Promise<AccessGrant | Refusal> | AccessGrant | Refusal {
    const grantOf = (access: AccessVerdict) => {
      if ("detail" in access) return access;
      if (access.isAllowed) return { client: `user:${user.username}`, ...(expires === undefined ? {} : { expires }) };
      return {
        status: 403,
        detail: `User ${user.username} may not connect to sandbox ${namespace}/${name}.`,
        remedy: `An administrator can allow it: kubectl create rolebinding NAME -n ${namespace} ` +
          `--clusterrole=hookbox-sandbox-user ${subjectOf(user.username)}`,
        headers: { [REASON_HEADER]: ACCESS_DENIED },
      };
    };
    const key = JSON.stringify([user.username, user.uid, user.groups, user.extra, namespace, name]);
    const access = accessCache.get(key, performance.now(), reviewOfAccess(key, user, namespace, name));
    return access instanceof Promise ? access.then(grantOf) : grantOf(access);
  }

  async function decideLater(ask: AccessRequest, identified: Promise<TokenVerdict>): Promise<AccessGrant | Refusal> {
    const verdict = await identified;
    if ("detail" in verdict) return verdict;
    return verdict.user ? await decide(ask, verdict.user, verdict.expires) : unauthorized(ask.token, VALID);
  }

  return (ask) => {
    const { token, address } = ask;
    if (token === undefined) {
      return options.authzTokenreviewRequireToken ? unauthorized(token, VALID) : { client: `address:${address}` };
    }
    const key = createHash("sha256").update(token).digest("base64");
    const failed = (error: unknown): Refusal => {
      log("error", "Cannot find out who may connect", { ...errorFields(error), stack: undefined });
      return { status: 500, detail: "Cannot find out who may connect: the API server does not say." };
    };
    const verdict = userCache.get(key, performance.now(), review(key, token, address));
    if (verdict instanceof Promise) return decideLater(ask, verdict).catch(failed);
    if ("detail" in verdict) return verdict;
    if (!verdict.user) return unauthorized(token, VALID);
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
type User = z.infer<typeof userSchema>;

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
