/**
 * Checks the rights of the caller and those of the accounts of an installation, and what the cluster offers to
 * sandboxes. @module
 */
import { readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "../../api/objects/objects.ts";
import { type Answer, isOk, messageOf, pathOf } from "../../kube/api.ts";
import {
  type AccessQuestion,
  type Check,
  type CheckInput,
  type CheckResult,
  isAllowed,
  itemsOf,
  read,
  reviewAccess,
} from "./check.ts";
import { bundleObjects, renderBundle } from "../install/bundle.ts";

interface Right {
  group: string;
  resource: string;
  verbs: string[];
  /** What the right is for, if it is optional. */
  use?: string;
}

const AGENTS = "agents.x-k8s.io";
const EXTENSIONS = "extensions.agents.x-k8s.io";

/** Rights of a user of claims; see docs/howto/teams.md. */
const NEEDED: Right[] = [
  { group: EXTENSIONS, resource: "sandboxclaims", verbs: ["create", "get", "list", "watch", "delete"] },
  { group: AGENTS, resource: "sandboxes", verbs: ["get", "list", "watch"] },
];

const OPTIONAL: Right[] = [
  { group: EXTENSIONS, resource: "sandboxclaims", verbs: ["patch"], use: "change the expiry" },
  { group: AGENTS, resource: "sandboxes", verbs: ["patch"], use: "suspend and resume" },
  { group: AGENTS, resource: "sandboxes", verbs: ["create", "delete"], use: "create --image" },
  { group: EXTENSIONS, resource: "sandboxwarmpools", verbs: ["get", "list"], use: "get pools, create --template" },
  {
    group: EXTENSIONS,
    resource: "sandboxwarmpools",
    verbs: ["create"],
    use: "create --template if the template has no pool",
  },
  { group: EXTENSIONS, resource: "sandboxtemplates", verbs: ["get", "list"], use: "get templates, why" },
  { group: "", resource: "pods", verbs: ["get"], use: "why" },
  { group: "", resource: "pods/log", verbs: ["get"], use: "logs" },
];

/** Rights for the two ways into a sandbox. */
const FORWARD: Right = {
  group: "",
  resource: "pods/portforward",
  verbs: ["create", "get"],
  use: "exec, cp and url without a router",
};
const CONNECT: Right = { group: AGENTS, resource: "sandboxes", verbs: ["connect"] };

interface ReviewedRight extends Right {
  verb: string;
  answer: Answer;
}

/** Checks whether the caller has the rights that the SDK and the commands need. */
export const checkRights: Check = async ({ cluster, router }) => {
  const what = "Your rights";
  const { api, namespace } = cluster;
  const ask = async (rights: Right[]): Promise<ReviewedRight[]> => {
    const questions = rights.flatMap((right) => right.verbs.map((verb) => ({ ...right, verb, namespace })));
    return await Promise.all(questions.map(async (one) => ({ ...one, answer: await reviewAccess(api, one) })));
  };
  try {
    const [needed, optional, forward, connect] = await Promise.all([
      ask(NEEDED),
      ask(OPTIONAL),
      ask(router === undefined ? [FORWARD] : []),
      ask([CONNECT]),
    ]);
    const unchecked = [...needed, ...optional, ...forward, ...connect].find(({ answer }) => !isOk(answer));
    if (unchecked) return [{ mark: "warn", what, text: `cannot be checked: ${messageOf(unchecked.answer)}` }];
    // Users with this right have a router, whose URL was just not given.
    const isWayKnown = connect.every(({ answer }) => isAllowed(answer));
    const missing = [...needed, ...isWayKnown ? [] : forward].filter(({ answer }) => !isAllowed(answer));
    const unusable = [...optional, ...isWayKnown ? forward : []].filter(({ answer }) => !isAllowed(answer));
    return diagnosesOf(namespace, missing, unusable);
  } catch (error) {
    return [{ mark: "warn", what, text: (error as Error).message }];
  }
};

function diagnosesOf(namespace: string, missing: ReviewedRight[], unusable: ReviewedRight[]): CheckResult[] {
  const what = "Your rights";
  if (missing.length + unusable.length === 0) {
    return [{ mark: "ok", what, text: `complete for SDK and command line in namespace ${namespace}` }];
  }
  const found: CheckResult[] = [];
  if (missing.length > 0) {
    const text = `in namespace ${namespace} you may not ${missing.map(wordsFor).join(", ")}`;
    const remedy = "Ask for a Role with these rules, or use another namespace with -n.";
    found.push({ mark: "fail", what, text, remedy });
  }
  if (unusable.length > 0) {
    const uses = [...Map.groupBy(unusable, ({ use = "" }) => use)];
    const parts = uses.map(([use, some]) => `${use} (${some.map(wordsFor).join(", ")})`);
    const enough = missing.length > 0 ? "" : `enough for claims in namespace ${namespace}, `;
    const remedy = "If you need that, ask for a Role with these rules.";
    found.push({ mark: "warn", what, text: `${enough}not enough for ${parts.join("; ")}`, remedy });
  }
  return found;
}

function wordsFor({ verb, resource }: ReviewedRight): string {
  return `${verb} ${resource}`;
}

/** Checks whether there is a RuntimeClass that isolates code from the node's kernel. */
export const checkRuntimeClasses: Check = async (input) => {
  const what = "RuntimeClasses";
  const answer = await read(input, "/apis/node.k8s.io/v1/runtimeclasses");
  const classes = itemsOf<KubeObject>(answer);
  if (!classes) return [{ mark: "warn", what, text: `cannot be read: ${messageOf(answer)}` }];
  if (classes.length > 0) return [{ mark: "ok", what, text: classes.map(({ metadata }) => metadata.name).join(", ") }];
  const remedy = "For untrusted code, install gVisor or Kata, and set its RuntimeClass in templates.";
  return [{ mark: "warn", what, text: "none: sandboxes share the kernel of their node", remedy }];
};

/** Checks whether there is a default StorageClass. */
export const checkStorage: Check = async (input) => {
  const what = "StorageClass";
  const answer = await read(input, "/apis/storage.k8s.io/v1/storageclasses");
  const classes = itemsOf<KubeObject>(answer);
  if (!classes) return [{ mark: "warn", what, text: `cannot be read: ${messageOf(answer)}` }];
  const standard = classes.find(({ metadata }) => {
    return metadata.annotations?.["storageclass.kubernetes.io/is-default-class"] === "true";
  });
  if (standard) return [{ mark: "ok", what, text: `${standard.metadata.name} is the default` }];
  const remedy =
    "Set one in volumeClaimTemplates, or annotate one with storageclass.kubernetes.io/is-default-class=true.";
  const names = classes.map(({ metadata }) => metadata.name).join(", ") || "none";
  return [{
    mark: "warn",
    what,
    text: `no default (existing: ${names}): volumes without a class stay pending`,
    remedy,
  }];
};

/** A ServiceAccount of hookbox or Metacontroller, and the rights that its roles must grant. */
interface Account {
  namespace: string;
  name: string;
  needs: AccessQuestion[];
}

interface Role extends KubeObject {
  rules: { apiGroups: string[]; resources: string[]; verbs: string[]; resourceNames?: string[] }[];
}

interface RoleBinding extends KubeObject {
  roleRef: { kind: string; name: string };
  subjects: { namespace: string; name: string }[];
}

interface Runner extends KubeObject {
  spec: { template: { spec: { serviceAccountName?: string } } };
}

const ACCOUNTS = "Rights of hookbox";
const PART = "app.kubernetes.io/part-of=hookbox";
const METACONTROLLER_RIGHTS = new URL("../../../deploy/metacontroller/rights.yaml", import.meta.url);

/** Checks whether keeper, binder, router and Metacontroller have the rights that this version needs, if they run. */
export const checkAccounts: Check = async (input) => {
  const answer = await read(input, pathOf({ resource: "deployments" }), { labelSelector: PART });
  const deployments = itemsOf<Runner>(answer);
  if (!deployments) return [{ mark: "warn", what: ACCOUNTS, text: `cannot be read: ${messageOf(answer)}` }];
  const accounts = [...hookboxAccounts(deployments), ...await metacontrollerAccount(input)];
  if (accounts.length === 0) return [];
  const found = await Promise.all(accounts.map((account) => missingRights(input, account)));
  const unchecked = found.find(({ why }) => why !== undefined);
  if (unchecked) return [{ mark: "warn", what: ACCOUNTS, text: `cannot be checked: ${unchecked.why}` }];
  const lacking = found.filter(({ lacks }) => lacks.length > 0);
  if (lacking.length === 0) {
    return [{ mark: "ok", what: ACCOUNTS, text: `complete: ${accounts.map(({ name }) => name).join(", ")}` }];
  }
  return lacking.map(({ account: { namespace, name }, lacks }): CheckResult => ({
    mark: "fail",
    what: ACCOUNTS,
    text: `ServiceAccount ${namespace}/${name} may not ${lacks.map(rightName).join(", ")}`,
    remedy: name === "metacontroller"
      ? "Apply the roles of this version: kubectl apply --server-side -k deploy/metacontroller"
      : "Apply the roles of this version: hookbox install --apply, or helm upgrade.",
  }));
};

/** Finds the accounts of deploy/ that Deployments use, each in the namespace of its Deployment. */
function hookboxAccounts(deployments: readonly Runner[]): Account[] {
  const placeholder = "hookbox-system";
  const objects = bundleObjects(renderBundle({ namespace: placeholder, processes: false, e2b: true, crds: false }));
  const roles = objects.filter(({ kind }) => kind.endsWith("Role")) as Role[];
  const bindings = objects.filter(({ kind }) => kind.endsWith("RoleBinding")) as RoleBinding[];
  const names = new Map(deployments.flatMap(({ metadata, spec }) => {
    const { serviceAccountName } = spec.template.spec;
    return serviceAccountName === undefined ? [] : [[serviceAccountName, metadata.namespace ?? ""] as const];
  }));
  return [...names].flatMap(([name, namespace]) => {
    const own = bindings.filter(({ subjects }) => subjects.some((subject) => subject.name === name));
    const needs = own.flatMap(({ roleRef }) => {
      const role = roles.find(({ kind, metadata }) => kind === roleRef.kind && metadata.name === roleRef.name);
      return needsOf(role?.rules ?? [], roleRef.kind === "Role" ? namespace : undefined);
    });
    return needs.length > 0 ? [{ namespace, name, needs }] : [];
  });
}

/** Finds the account of Metacontroller, if the caller can list Metacontroller's Pods. */
async function metacontrollerAccount(input: CheckInput): Promise<Account[]> {
  const pods = await read(input, pathOf({ resource: "pods" }), {
    labelSelector: "app.kubernetes.io/name=metacontroller",
  });
  const [pod] = itemsOf<KubeObject & { spec: { serviceAccountName?: string } }>(pods) ?? [];
  const name = pod?.spec.serviceAccountName;
  if (!pod || name === undefined) return [];
  const [rights] = parseAllDocuments(readFileSync(METACONTROLLER_RIGHTS, "utf8")).map((one) =>
    one.toJS() as [{ value: Role["rules"] }]
  );
  return [{ namespace: pod.metadata.namespace ?? "", name, needs: needsOf(rights?.[0].value ?? [], undefined) }];
}

function needsOf(rules: Role["rules"], namespace: string | undefined): AccessQuestion[] {
  return rules.flatMap(({ apiGroups, resources, verbs, resourceNames = [undefined] }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.flatMap((verb) => resourceNames.map((name) => ({ verb, group, resource, name, namespace })))
      )
    )
  );
}

async function missingRights(
  { cluster }: CheckInput,
  account: Account,
): Promise<{ account: Account; lacks: AccessQuestion[]; why?: string }> {
  const user = `system:serviceaccount:${account.namespace}:${account.name}`;
  const lacks: AccessQuestion[] = [];
  try {
    for (const need of account.needs) {
      const answer = await reviewAccess(cluster.api, need, { user, groups: groupsOf(account) });
      if (!isOk(answer)) return { account, lacks, why: messageOf(answer) };
      if (!isAllowed(answer)) lacks.push(need);
    }
    return { account, lacks };
  } catch (error) {
    return { account, lacks, why: (error as Error).message };
  }
}

function groupsOf({ namespace }: Account): string[] {
  return ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
}

function rightName({ verb, group, resource }: AccessQuestion): string {
  const [name, subresource] = resource.split("/");
  return `${verb} ${name}${group === "" ? "" : `.${group}`}${subresource === undefined ? "" : `/${subresource}`}`;
}
