/**
 * Checks the API for E2B's SDKs: whether it runs, whether its domain leads to it and to the router, and which API keys
 * it admits. Without the API, nothing is reported, unless there are projects. @module
 */
import { keyEntriesOf, KEYS_SECRET, PROJECT_LABEL } from "../../api/e2b/objects.ts";
import { ROUTER_NAMESPACE } from "../../api/installation.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { messageOf, pathOf } from "../../kube/api.ts";
import { causeOf } from "../../process/log.ts";
import { type Check, type CheckInput, type CheckResult, itemsOf, read } from "./check.ts";

const NAME_LABEL = "app.kubernetes.io/name";
const NAME = "hookbox-e2b";
const E2B_SELECTOR = `${NAME_LABEL}=${NAME}`;
const PROJECT_ROLE = "hookbox-e2b-project";
const PAGE = "docs/e2b.md";
const TIMEOUT_MS = 5000;
/** Has the form of an ID, and is none. */
const NO_SANDBOX = "a".repeat(20);

interface Deployment extends KubeObject {
  spec: { replicas?: number; template: { spec: { containers: { args?: string[] }[] } } };
  status?: { readyReplicas?: number };
}

/** Checks the API, its domain, and the projects. */
export const checkE2B: Check = async (input) => {
  const what = "E2B API";
  let answer = await read(input, pathOf({ resource: "deployments" }), { labelSelector: E2B_SELECTOR });
  if (answer.status === 403) {
    const path = pathOf({ resource: "deployments", namespace: ROUTER_NAMESPACE });
    answer = await read(input, path, { labelSelector: E2B_SELECTOR });
  }
  const deployment = itemsOf<Deployment>(answer)?.find(({ metadata }) => metadata.labels?.[NAME_LABEL] === NAME);
  const projects = await checkProjects(input, deployment !== undefined);
  if (!deployment) {
    if (projects.length === 0) return [];
    const remedy = `Install it: ${PAGE}. Until then, SDKs cannot use the projects.`;
    return [{ mark: "warn", what, text: "there are projects, but the API was not found", remedy }, ...projects];
  }
  const { metadata: { namespace, name }, spec: { replicas = 1, template }, status } = deployment;
  const ready = status?.readyReplicas ?? 0;
  const text = `${ready} of ${replicas} replicas of Deployment ${namespace}/${name} ready`;
  const remedy = `Find out why: kubectl -n ${namespace} describe pods -l ${E2B_SELECTOR}`;
  const mark = ready === 0 ? "fail" : ready < replicas ? "warn" : "ok";
  const runs: CheckResult = { mark, what, text, ...mark === "ok" ? {} : { remedy } };
  return [runs, ...await checkDomain(input, template.spec.containers[0]?.args ?? []), ...projects];
};

/** Checks whether the hosts of the API and of sandboxes lead to hookbox, as seen from here. */
async function checkDomain(input: CheckInput, args: readonly string[]): Promise<CheckResult[]> {
  const what = "E2B domain";
  const domain = optionIn(args, "domain");
  if (domain === undefined) {
    return [{
      mark: "ok",
      what,
      text: "none: programs set E2B_API_URL and E2B_SANDBOX_URL, and use no hosts of ports",
    }];
  }
  const prefix = optionIn(args, "path-prefix") ?? "";
  const hosts = [
    // Without a key, the API answers 401.
    { url: `https://api.${domain}${prefix}/sandboxes`, status: 401, leadsTo: "the Service hookbox-e2b" },
    // The router's answer about a sandbox that does not exist.
    { url: `https://49983-${NO_SANDBOX}.${domain}/health`, status: 502, leadsTo: "the router, with --domain" },
  ];
  const results = await Promise.all(hosts.map(async ({ url, status, leadsTo }): Promise<CheckResult | undefined> => {
    const { host } = new URL(url);
    try {
      const answer = await input.fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: "manual" });
      const body = await answer.json().catch(() => undefined) as { code?: number } | undefined;
      if (answer.status === status && body?.code === status) return undefined;
      const remedy = `Let the host lead to ${leadsTo}: ${PAGE}.`;
      return { mark: "fail", what, text: `something else answers at ${host}: HTTP ${answer.status}`, remedy };
    } catch (error) {
      const remedy = `If programs run where you are, add a DNS record and a certificate for *.${domain}: ${PAGE}.`;
      return { mark: "warn", what, text: `${host} cannot be reached from here: ${causeOf(error)}`, remedy };
    }
  }));
  const problems = results.filter((result) => result !== undefined);
  const text = `api.${domain} leads to the API, and hosts of sandboxes to the router`;
  return problems.length > 0 ? problems : [{ mark: "ok", what, text }];
}

/** Returns the value of `--name=value` or `--name value`; undefined if it is absent or empty. */
function optionIn(args: readonly string[], name: string): string | undefined {
  const at = args.findIndex((arg) => arg === `--${name}` || arg.startsWith(`--${name}=`));
  if (at < 0) return undefined;
  return (args[at]?.includes("=") ? args[at]?.replace(/^[^=]*=/, "") : args[at + 1]) || undefined;
}

interface RoleBinding extends KubeObject {
  roleRef: { name: string };
}

/**
 * Lists who gets in, and namespaces in which the API may do nothing.
 *
 * @param isInstalled if not, a missing right to read the projects is not reported
 */
async function checkProjects(input: CheckInput, isInstalled: boolean): Promise<CheckResult[]> {
  const what = "E2B projects";
  const [namespaces, secrets, bindings] = await Promise.all([
    read(input, pathOf({ resource: "namespaces" }), { labelSelector: `${PROJECT_LABEL}=true` }),
    read(input, pathOf({ resource: "secrets" }), { fieldSelector: `metadata.name=${KEYS_SECRET}` }),
    read(input, "/apis/rbac.authorization.k8s.io/v1/rolebindings"),
  ]);
  const labelled = itemsOf<KubeObject>(namespaces)?.map(({ metadata }) => metadata.name) ?? [];
  const stored = itemsOf<KubeObject & { data?: Record<string, string> }>(secrets);
  if (!stored) {
    if (!isInstalled && labelled.length === 0) return [];
    const remedy = `Ask an administrator. API keys are in the Secrets ${KEYS_SECRET}.`;
    return [{ mark: "warn", what, text: `API keys cannot be listed: ${messageOf(secrets)}`, remedy }];
  }
  const keysOf = new Map(labelled.map((name) => [name, ""]));
  for (const { metadata: { namespace = "" }, data = {} } of stored) keysOf.set(namespace, namesOf(data).join(", "));
  if (keysOf.size === 0) return [];
  const projects = [...keysOf].sort();
  const text = projects.map(([name, keys]) => `${name} (${keys === "" ? "no API key" : `API keys ${keys}`})`).join(
    ", ",
  );
  const bound = itemsOf<RoleBinding>(bindings)?.filter(({ roleRef }) => roleRef.name === PROJECT_ROLE);
  const unbound = projects.filter(([name]) => bound && !bound.some(({ metadata }) => metadata.namespace === name));
  return [
    { mark: "ok", what, text },
    ...unbound.map(([name]): CheckResult => ({
      mark: "fail",
      what,
      text: `namespace ${name} has no RoleBinding to ${PROJECT_ROLE}: its API keys can do nothing`,
      remedy: `Create the project again: hookbox project create ${name} --no-pool. It changes no key.`,
    })),
  ];
}

/** Returns the names of API keys that can be read, with their rights. */
function namesOf(data: Record<string, string>): string[] {
  return keyEntriesOf(data).flatMap(([name, entry]) => entry ? [`${name}: ${entry.rights.join("+")}`] : []);
}
