/** Asks the API server who somebody is and what they may. Remembers nothing. @module */
import * as z from "zod";
import { answerError, type Api, isOk } from "../../kube/api.ts";

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

/** Somebody whom the API server knows. */
export type User = z.infer<typeof userSchema>;

/** What a user needs to be allowed, on the Sandbox itself: `connect` on `sandboxes` of group `agents.x-k8s.io`. */
export const VERB = "connect";

/**
 * Finds out whose token it is.
 *
 * @param audiences for whom it has to be made; `[]`: for the API server
 * @returns undefined for nobody's
 * @throws {Error} if the API server cannot say
 */
export async function reviewToken(api: Api, token: string, audiences: readonly string[]): Promise<User | undefined> {
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
  // An authenticator that does not know of audiences answers without: then the token was made for somebody else.
  const isForUs = audiences.length === 0 || valid.some((audience) => audiences.includes(audience));
  return authenticated === true && isForUs ? user : undefined;
}

/** Finds out whether a user may reach the Sandbox. @throws {Error} if the API server cannot say */
export async function reviewAccess(api: Api, user: User, namespace: string, name: string): Promise<boolean> {
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
