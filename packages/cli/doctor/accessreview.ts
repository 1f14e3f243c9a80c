/** Asks the API server whether a user is allowed to send a request. @module */
import type { Answer, Api } from "../../kube/api.ts";

/** A request to the API server, as RBAC describes it. */
export interface AccessQuestion {
  verb: string;
  group: string;
  /** The resource, with a subresource if there is one: `sandboxclaims/status`. */
  resource: string;
  /** Undefined: objects of any name. */
  name?: string | undefined;
  /** Undefined: all namespaces. */
  namespace?: string | undefined;
}

/** Checks the rights of `somebody`, or of the caller if undefined. @throws {Error} if the API server does not answer */
export async function reviewAccess(
  api: Api,
  { verb, group, resource: path, name, namespace }: AccessQuestion,
  somebody?: { user: string; groups: string[] },
): Promise<Answer> {
  const kind = somebody ? "SubjectAccessReview" : "SelfSubjectAccessReview";
  const [resource, subresource] = path.split("/");
  return await api.send({
    method: "POST",
    path: `/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`,
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind,
      spec: { ...somebody, resourceAttributes: { verb, group, resource, subresource, name, namespace } },
    },
  });
}

/** Reads the response of {@link reviewAccess}. */
export function isAllowed({ body }: Answer): boolean {
  return (body as { status?: { allowed?: boolean } }).status?.allowed === true;
}
