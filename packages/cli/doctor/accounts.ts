/** Checks whether the accounts of an installation have the rights that this version needs. @module */
import { readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "../../api/objects/objects.ts";
import { isOk, messageOf, pathOf } from "../../kube/api.ts";
import { bundleObjects, renderBundle } from "../install/bundle.ts";
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

const WHAT = "Rights of hookbox";
const PART = "app.kubernetes.io/part-of=hookbox";
const METACONTROLLER_RIGHTS = new URL("../../../deploy/metacontroller/rights.yaml", import.meta.url);

/** Checks whether keeper, binder, router and Metacontroller have the rights that this version needs, if they run. */
export const checkAccounts: Check = async (input) => {
  const answer = await read(input, pathOf({ resource: "deployments" }), { labelSelector: PART });
  const deployments = itemsOf<Runner>(answer);
  if (!deployments) return [{ mark: "warn", what: WHAT, text: `cannot be read: ${messageOf(answer)}` }];
  const accounts = [...hookboxAccounts(deployments), ...await metacontrollerAccount(input)];
  if (accounts.length === 0) return [];
  const found = await Promise.all(accounts.map((account) => missingRights(input, account)));
  const unchecked = found.find(({ why }) => why !== undefined);
  if (unchecked) return [{ mark: "warn", what: WHAT, text: `cannot be checked: ${unchecked.why}` }];
  const lacking = found.filter(({ lacks }) => lacks.length > 0);
  if (lacking.length === 0) {
    return [{ mark: "ok", what: WHAT, text: `complete: ${accounts.map(({ name }) => name).join(", ")}` }];
  }
  return lacking.map(({ account: { namespace, name }, lacks }): CheckResult => ({
    mark: "fail",
    what: WHAT,
    text: `ServiceAccount ${namespace}/${name} may not ${lacks.map(wordsFor).join(", ")}`,
    remedy: name === "metacontroller"
      ? "Apply the roles of this version: kubectl apply --server-side -k deploy/metacontroller"
      : "Apply the roles of this version: hookbox install --apply, or helm upgrade.",
  }));
};

/** Finds the accounts of deploy/ that Deployments use, each in the namespace of its Deployment. */
function hookboxAccounts(deployments: readonly Runner[]): Account[] {
  const placeholder = "hookbox-system";
  const objects = bundleObjects(renderBundle({ namespace: placeholder, processes: false, crds: false }));
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

function wordsFor({ verb, group, resource }: AccessQuestion): string {
  const [name, subresource] = resource.split("/");
  return `${verb} ${name}${group === "" ? "" : `.${group}`}${subresource === undefined ? "" : `/${subresource}`}`;
}
