/** Checks of what the caller may do, and of what the cluster has for sandboxes. Changes nothing. @module */
import { isOk, messageOf } from "../../kube/api.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { type Check, itemsOf, read } from "./check.ts";

interface Right {
  group: string;
  resource: string;
  verbs: string[];
}

const ALL = ["create", "get", "list", "watch", "patch", "delete"];
const AGENTS = "agents.x-k8s.io";
const EXTENSIONS = "extensions.agents.x-k8s.io";

/** What SDK and command do in a namespace. */
const RIGHTS: Right[] = [
  { group: EXTENSIONS, resource: "sandboxclaims", verbs: ALL },
  { group: AGENTS, resource: "sandboxes", verbs: ALL },
  { group: EXTENSIONS, resource: "sandboxwarmpools", verbs: ["get", "list"] },
  { group: EXTENSIONS, resource: "sandboxtemplates", verbs: ["get", "list"] },
  { group: "", resource: "pods", verbs: ["get"] },
  { group: "", resource: "pods/log", verbs: ["get"] },
];
/** Only for those who have no router. */
const FORWARD: Right = { group: "", resource: "pods/portforward", verbs: ["create", "get"] };

/** May the caller do what SDK and command do? */
export const checkRights: Check = async ({ cluster, router }) => {
  const what = "Your rights";
  const wanted = [...RIGHTS, ...router === undefined ? [FORWARD] : []];
  const questions = wanted.flatMap(({ verbs, ...right }) => verbs.map((verb) => ({ verb, ...right })));
  const answers = await Promise.all(questions.map(async ({ verb, group, resource: path }) => {
    const [resource = "", subresource] = path.split("/");
    const attributes = { namespace: cluster.namespace, verb, group, resource, ...subresource ? { subresource } : {} };
    const answer = await cluster.api.send({
      method: "POST",
      path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
      body: {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes: attributes },
      },
    });
    return { verb, resource: path, answer };
  })).catch((error: Error) => error);
  if (answers instanceof Error) return [{ mark: "warn", what, text: answers.message }];
  const unasked = answers.find(({ answer }) => !isOk(answer));
  if (unasked) return [{ mark: "warn", what, text: `cannot be asked for: ${messageOf(unasked.answer)}` }];
  const missing = answers.filter(({ answer }) => !(answer.body as { status?: { allowed?: boolean } }).status?.allowed);
  if (missing.length === 0) {
    return [{ mark: "ok", what, text: `all that SDK and command need in namespace ${cluster.namespace}` }];
  }
  const text = missing.map(({ verb, resource }) => `${verb} ${resource}`).join(", ");
  const remedy = "Ask for a Role with these rules, or name another namespace with -n.";
  return [{ mark: "fail", what, text: `in namespace ${cluster.namespace} you may not ${text}`, remedy }];
};

/** Is there something that keeps code away from the node's kernel? */
export const checkRuntimeClasses: Check = async (patient) => {
  const what = "RuntimeClasses";
  const answer = await read(patient, "/apis/node.k8s.io/v1/runtimeclasses");
  const classes = itemsOf<KubeObject>(answer);
  if (!classes) return [{ mark: "warn", what, text: `cannot be seen: ${messageOf(answer)}` }];
  if (classes.length > 0) return [{ mark: "ok", what, text: classes.map(({ metadata }) => metadata.name).join(", ") }];
  const remedy = "For code that you do not trust install gVisor or Kata, and name its RuntimeClass in templates.";
  return [{ mark: "warn", what, text: "none: sandboxes share the kernel of their node", remedy }];
};

/** Is there a StorageClass for volumes that name none? */
export const checkStorage: Check = async (patient) => {
  const what = "StorageClass";
  const answer = await read(patient, "/apis/storage.k8s.io/v1/storageclasses");
  const classes = itemsOf<KubeObject>(answer);
  if (!classes) return [{ mark: "warn", what, text: `cannot be seen: ${messageOf(answer)}` }];
  const byDefault = classes.find(({ metadata }) => {
    return metadata.annotations?.["storageclass.kubernetes.io/is-default-class"] === "true";
  });
  if (byDefault) return [{ mark: "ok", what, text: `${byDefault.metadata.name} is the default` }];
  const remedy = "Name one in volumeClaimTemplates, or mark one with storageclass.kubernetes.io/is-default-class=true.";
  const names = classes.map(({ metadata }) => metadata.name).join(", ") || "none at all";
  return [{ mark: "warn", what, text: `no default (there is ${names}): volumes that name none stay pending`, remedy }];
};
