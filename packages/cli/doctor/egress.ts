/**
 * Checks the egress proxies: in each namespace that has one, or has templates with rules for one, whether it runs and
 * whether nothing gets past it. Without any, nothing is reported. @module
 */
import {
  EGRESS_CA,
  EGRESS_PROXY,
  EGRESS_PROXY_LABELS,
  hasEgressRules,
  withEgressProxy,
} from "../../api/egress/podsettings.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import type { SandboxTemplate } from "../../api/sandboxtemplate.ts";
import { isOk, messageOf, pathOf } from "../../kube/api.ts";
import { faultsOf } from "../egress/rules.ts";
import { type Check, type CheckInput, type CheckResult, isAllowed, itemsOf, read, reviewAccess } from "./check.ts";
import { problemOfTemplate } from "./egresstemplate.ts";

/** The labels as a selector. The Deployment and its NetworkPolicy have them, too. */
const PROXY_LABELS = Object.entries(EGRESS_PROXY_LABELS).map((label) => label.join("=")).join();
const HOWTO = "docs/howto/egress-proxy.md";
/** Each policy logs what it knows every five minutes. */
const LOG_SECONDS = 660;
const LOG_BYTES = 8 * 1024 * 1024;

interface Deployment extends KubeObject {
  spec: { replicas?: number };
  status?: { readyReplicas?: number };
}

/** Checks proxies and templates. */
export const checkEgress: Check = async (input) => {
  const [proxies, templates] = await Promise.all([
    read(input, pathOf({ resource: "deployments" }), { labelSelector: PROXY_LABELS }),
    read(input, pathOf({ resource: "sandboxtemplates" })),
  ]);
  const deployments = (itemsOf<Deployment>(proxies) ?? []).filter(({ metadata }) => metadata.name === EGRESS_PROXY);
  const withRules = (itemsOf<SandboxTemplate>(templates) ?? []).filter(({ metadata }) => hasEgressRules(metadata));
  const namespaceOf = ({ metadata: { namespace = "" } }: KubeObject) => namespace;
  const namespaces = [...new Set([...deployments, ...withRules].map(namespaceOf))].sort();
  const results = await Promise.all(namespaces.map(async (namespace) => [
    await checkProxy(input, namespace, deployments.find((one) => namespaceOf(one) === namespace), isOk(proxies)),
    ...await Promise.all(
      withRules.filter((one) => namespaceOf(one) === namespace).map((template) => checkTemplate(input, template)),
    ),
  ]));
  return results.flat();
};

async function checkProxy(
  input: CheckInput,
  namespace: string,
  deployment: Deployment | undefined,
  isListed: boolean,
): Promise<CheckResult> {
  const what = "Egress proxy";
  const place = `Deployment ${namespace}/${EGRESS_PROXY}`;
  if (!deployment) {
    const remedy = `Install it: ${HOWTO}. Without it, sandboxes of these templates reach nothing.`;
    if (!isListed) {
      return { mark: "warn", what, text: `${place} cannot be read`, remedy: "Ask for the right to list Deployments." };
    }
    return {
      mark: "fail",
      what,
      text: `there is none in namespace ${namespace}, but templates with rules for it`,
      remedy,
    };
  }
  const { spec: { replicas = 1 }, status } = deployment;
  const ready = status?.readyReplicas ?? 0;
  const text = `${ready} of ${replicas} replicas of ${place} ready`;
  if (ready === 0) {
    const remedy = `Find out why: kubectl -n ${namespace} describe pods -l ${PROXY_LABELS}`;
    return { mark: "fail", what, text, remedy };
  }
  const policy = await read(
    input,
    `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies/${EGRESS_PROXY}`,
  );
  if (policy.status === 404) {
    const remedy = `Apply it again: kubectl apply -n ${namespace} -k deploy/egress.`;
    return { mark: "fail", what, text: `${text}; its NetworkPolicy ${EGRESS_PROXY} is missing`, remedy };
  }
  const known = await knownOfPolicies(input, namespace);
  switch (known) {
    case "enforced":
      return { mark: ready < replicas ? "warn" : "ok", what, text: `${text}; NetworkPolicies are enforced` };
    case "not_enforced": {
      const remedy = "Use a network plugin that enforces NetworkPolicies. Until then, the proxy refuses everything.";
      return { mark: "fail", what, text: `${text}; the cluster does not enforce NetworkPolicies`, remedy };
    }
    case "unknown": {
      const remedy = "Run two replicas. With one, the proxy cannot find it out.";
      return { mark: "warn", what, text: `${text}; it is not known whether NetworkPolicies are enforced`, remedy };
    }
    default: {
      const remedy = `Ask for the right to get pods/log in namespace ${namespace}.`;
      return { mark: "warn", what, text: `${text}; its log cannot be read: ${known.unreadable}`, remedy };
    }
  }
}

type Known = "enforced" | "not_enforced" | "unknown" | { unreadable: string };

/** Reads what the Pods of the proxy have logged last: `not_enforced` of one counts. */
async function knownOfPolicies(input: CheckInput, namespace: string): Promise<Known> {
  const pods = await read(input, pathOf({ resource: "pods", namespace }), { labelSelector: PROXY_LABELS });
  const names = itemsOf<KubeObject>(pods)?.map(({ metadata }) => metadata.name);
  if (!names) return { unreadable: messageOf(pods) };
  const query = { container: "policy", sinceSeconds: String(LOG_SECONDS), limitBytes: String(LOG_BYTES) };
  const logs = await Promise.all(
    names.map((name) => read(input, `${pathOf({ resource: "pods", namespace, name })}/log`, query)),
  );
  const unreadable = logs.find((log) => !isOk(log));
  const states = logs.flatMap(({ body }) => lastState(String(body)) ?? []);
  if (states.includes("not_enforced")) return "not_enforced";
  if (states.includes("enforced")) return "enforced";
  return unreadable ? { unreadable: messageOf(unreadable) } : "unknown";
}

/** The state of the last line that has one. */
function lastState(log: string): string | undefined {
  const lines = log.split("\n").filter((line) => line.includes("NetworkPolicies"));
  return /"state":"(\w+)"/.exec(lines.at(-1) ?? "")?.[1];
}

async function checkTemplate(input: CheckInput, template: SandboxTemplate): Promise<CheckResult> {
  const { namespace = "", name } = template.metadata;
  const what = "Egress rules";
  const title = `template ${namespace}/${name}`;
  const [fault] = await faultsOf(input.cluster.api, { ...template, kind: "SandboxTemplate" }, undefined);
  if (fault) {
    const remedy = `Correct ${fault.where} of the template: kubectl edit sandboxtemplate ${name} -n ${namespace}.`;
    return { mark: "fail", what, text: `${title}: ${fault.text}`, remedy };
  }
  const secret = await unreadableSecret(input, template);
  if (secret !== undefined) {
    const remedy =
      `Let it: kubectl create role ${EGRESS_PROXY}-${secret} -n ${namespace} --verb=get --resource=secrets ` +
      `--resource-name=${secret}, and bind it to ServiceAccount ${EGRESS_PROXY}.`;
    return { mark: "fail", what, text: `${title}: the proxy may not read Secret ${secret}`, remedy };
  }
  const problem = problemOfTemplate(template) ?? await certificateProblem(input, template);
  if (!problem) return { mark: "ok", what, text: `${title} names the proxy, and lets nothing else out` };
  return { what, ...problem, text: `${title}: ${problem.text}` };
}

/** Without the ConfigMap, the Pods of the template do not start. */
async function certificateProblem(
  input: CheckInput,
  { metadata, spec: { podTemplate } }: SandboxTemplate,
): Promise<Pick<CheckResult, "mark" | "text" | "remedy"> | undefined> {
  const { volumes = [] } = withEgressProxy(podTemplate.spec, metadata);
  if (!volumes.some(({ configMap }) => configMap?.name === EGRESS_CA)) return undefined;
  const { status } = await read(input, `/api/v1/namespaces/${metadata.namespace}/configmaps/${EGRESS_CA}`);
  if (status !== 404) return undefined;
  const remedy = `Create it with the certificate authority of the proxy: ${HOWTO}.`;
  return { mark: "fail", text: `ConfigMap ${EGRESS_CA} does not exist, so its sandboxes do not start`, remedy };
}

/** Returns a Secret that the proxy may not read; undefined: there is none, or the caller may not find out. */
async function unreadableSecret({ cluster }: CheckInput, { metadata }: SandboxTemplate): Promise<string | undefined> {
  const { secretsOf } = await import("../../api/egress/faults.ts");
  const { namespace = "" } = metadata;
  const somebody = {
    user: `system:serviceaccount:${namespace}:${EGRESS_PROXY}`,
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
  };
  for (const name of secretsOf(metadata)) {
    const question = { verb: "get", group: "", resource: "secrets", namespace, name };
    const answer = await reviewAccess(cluster.api, question, somebody);
    if (isOk(answer) && !isAllowed(answer)) return name;
  }
  return undefined;
}
