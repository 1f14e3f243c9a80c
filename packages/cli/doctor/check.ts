/**
 * What the checks of `hookbox doctor` share: their types, and functions that read and review access without throwing.
 * @module
 */
import { SYSTEM_NAMESPACE } from "../../api/installation.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { type Answer, type Api, pathOf } from "../../kube/api.ts";
import type { Cluster } from "../commandcontext.ts";

/** What the checks examine. */
export interface CheckInput {
  cluster: Cluster;
  /** URL of the router; undefined if none was given. */
  router: string | undefined;
  fetch: typeof fetch;
  now: Date;
}

/** Result of a check. */
export interface CheckResult {
  /** `ok`; `warn`: it works, but could be better, or could not be checked; `fail`: it does not work. */
  mark: "ok" | "warn" | "fail";
  /** What was checked, in two or three words. */
  what: string;
  text: string;
  /** What to do, in one sentence. */
  remedy?: string;
}

/** Checks one or more things. */
export type Check = (input: CheckInput) => Promise<CheckResult[]>;

/** Reads from the API server; if there is no response, the status is 0. */
export async function read({ cluster }: CheckInput, path: string, query: Record<string, string> = {}): Promise<Answer> {
  try {
    return await cluster.api.send({ method: "GET", path, query });
  } catch (error) {
    return { status: 0, body: { message: error instanceof Error ? error.message : String(error) } };
  }
}

/** Returns the items of a list; undefined if it could not be read. */
export function itemsOf<T>({ status, body }: Answer): T[] | undefined {
  return status === 200 ? (body as { items: T[] }).items : undefined;
}

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

const KEEPER_LABELS = "app.kubernetes.io/part-of=hookbox,app.kubernetes.io/name=keeper";

/** Returns `hookbox install` with a placeholder for the image, and with the namespace if it is not the default. */
export async function installAdvice(input: CheckInput): Promise<string> {
  const answer = await read(input, pathOf({ resource: "deployments" }), { labelSelector: KEEPER_LABELS });
  const [namespace = SYSTEM_NAMESPACE, ...more] = (itemsOf<KubeObject>(answer) ?? []).map(({ metadata }) =>
    metadata.namespace
  );
  const where = namespace === SYSTEM_NAMESPACE || more.length > 0 ? "" : ` --system-namespace ${namespace}`;
  return `hookbox install --apply --image REGISTRY/hookbox:TAG${where}`;
}
