/** Asks an API server whether somebody may do something. @module */
import type { Answer, Api } from "../../kube/api.ts";

/** What is to be done, and where. */
export interface AccessQuestion {
  verb: string;
  group: string;
  /** Such as `sandboxclaims/status`. */
  resource: string;
  /** Undefined: of any name. */
  name?: string | undefined;
  /** Undefined: in all namespaces. */
  namespace?: string | undefined;
}

/** Asks for somebody else, else for the caller. @throws {Error} if the API server does not answer */
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

/** Reads the answer to it. */
export function isAllowed({ body }: Answer): boolean {
  return (body as { status?: { allowed?: boolean } }).status?.allowed === true;
}
