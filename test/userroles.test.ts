/** The roles for people in deploy/users grant each request of the dashboard and of the commands, and no more than that. @module */
import { readFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { Answer, Api, ApiRequest } from "../packages/kube/api.ts";
import { isAllowed } from "../packages/router/dashboard/dashboard.ts";
import { fakeApi, run } from "./cli/fakecontext.ts";
import { someSandboxes } from "./cli/sandboxcontext.ts";
import { fetch, sound } from "./cli/soundcluster.ts";
import { sandbox } from "./testing/objects.ts";
import { isGranted, type Right, rightOf, type Rule, rulesOfUserRole, wordsFor } from "./rights.ts";

interface Role {
  metadata: { name: string; labels: Record<string, string> };
  rules: Rule[];
}

const roles: Role[] = parseAllDocuments(readFileSync(new URL("../deploy/users/roles.yaml", import.meta.url), "utf8"))
  .map((document) => document.toJS());
const [view, edit] = ["hookbox-view", "hookbox-edit"].map(rulesOfUserRole) as [Rule[], Rule[]];

/** Groups and resources of an API server with hookbox and Metacontroller; after the slash, subresources. */
const SERVED: Record<string, string> = {
  "/api/v1":
    "bindings componentstatuses configmaps endpoints events limitranges namespaces namespaces/finalize nodes " +
    "nodes/proxy nodes/status persistentvolumeclaims persistentvolumes pods pods/attach pods/binding pods/eviction " +
    "pods/ephemeralcontainers pods/exec pods/log pods/portforward pods/proxy pods/resize pods/status podtemplates " +
    "replicationcontrollers resourcequotas secrets serviceaccounts serviceaccounts/token services services/proxy",
  "/apis/agents.x-k8s.io/v1beta1": "sandboxes sandboxes/status",
  "/apis/extensions.agents.x-k8s.io/v1beta1":
    "sandboxclaims sandboxclaims/status sandboxtemplates sandboxwarmpools sandboxwarmpools/status sandboxwarmpools/scale",
  "/apis/admissionregistration.k8s.io/v1": "mutatingwebhookconfigurations validatingadmissionpolicies",
  "/apis/apiextensions.k8s.io/v1": "customresourcedefinitions",
  "/apis/apps/v1": "controllerrevisions daemonsets deployments deployments/scale replicasets statefulsets",
  "/apis/authentication.k8s.io/v1": "tokenreviews",
  "/apis/authorization.k8s.io/v1": "localsubjectaccessreviews selfsubjectrulesreviews subjectaccessreviews",
  "/apis/batch/v1": "cronjobs jobs",
  "/apis/certificates.k8s.io/v1": "certificatesigningrequests",
  "/apis/coordination.k8s.io/v1": "leases",
  "/apis/discovery.k8s.io/v1": "endpointslices",
  "/apis/events.k8s.io/v1": "events",
  "/apis/metacontroller.k8s.io/v1alpha1": "compositecontrollers controllerrevisions decoratorcontrollers",
  "/apis/metrics.k8s.io/v1beta1": "nodes pods",
  "/apis/networking.k8s.io/v1": "ingresses networkpolicies",
  "/apis/node.k8s.io/v1": "runtimeclasses",
  "/apis/policy/v1": "poddisruptionbudgets",
  "/apis/rbac.authorization.k8s.io/v1": "clusterrolebindings clusterroles rolebindings roles",
  "/apis/scheduling.k8s.io/v1": "priorityclasses",
  "/apis/storage.k8s.io/v1": "csinodes storageclasses volumeattachments",
};
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

/** Every request of one object or list that the API server could get. */
const requests = Object.entries(SERVED).flatMap(([base, resources]) =>
  resources.split(" ").flatMap((each) => {
    const [resource = "", subresource] = each.split("/");
    const paths = ["", "/namespaces/team-a"].flatMap((scope) => {
      const list = `${base}${scope}/${resource}`;
      return subresource === undefined ? [list, `${list}/demo`] : [`${list}/demo/${subresource}`];
    });
    return METHODS.flatMap((method) => paths.map((path) => ({ method, path })));
  })
);
const lacking = (rules: readonly Rule[], asked: readonly { method: string; path: string }[]) =>
  asked.map((request) => rightOf(request)!).filter((right) => !isGranted(rules, right)).map(wordsFor);

test("hookbox-view grants what the dashboard reads, watches included, and hookbox-edit what it changes, too", () => {
  const passed = requests.filter(({ method, path }) => isAllowed(method, path));
  const read = passed.filter(({ method }) => method === "GET");
  const watched = read.filter(({ path }) => !/\/(demo|log)$/.test(path)).map(({ path }) => ({ method: "WATCH", path }));
  expect(new Set(read.map(({ path }) => path.replace(/\/demo$/, "").split("/").at(-1))).size).toBeGreaterThan(10);
  expect(passed.length).toBeGreaterThan(read.length + 4);
  expect(lacking(view, [...read, ...watched])).toEqual([]);
  expect(lacking(edit, [...passed, ...watched])).toEqual([]);
});

test("no role reads Secrets or gets into Pods and nodes, and hookbox-view changes nothing", () => {
  const sensitive = /secrets|configmaps|serviceaccounts|\/(exec|attach|portforward|proxy|token|eviction|status|scale)$/;
  for (const { metadata: { name }, rules } of roles) {
    expect(JSON.stringify(rules), name).not.toContain('"*"');
    const granted = requests.map((request) => rightOf(request)!).filter((right) => isGranted(rules, right));
    expect(granted.length).toBeGreaterThan(0);
    expect(granted.filter(({ resource }) => sensitive.test(resource)), name).toEqual([]);
    const changed = granted.filter(({ verb }) => !["get", "list", "watch"].includes(verb));
    expect(changed.every(({ group }) => /^(extensions\.)?agents\.x-k8s\.io$/.test(group)), name).toBe(true);
    if (name.endsWith("view")) expect([changed, isGranted(rules, CONNECT)]).toEqual([[], false]);
    else expect(isGranted(rules, CONNECT), name).toBe(true);
  }
});

const CONNECT: Right = { verb: "connect", group: "agents.x-k8s.io", resource: "sandboxes", name: "demo" };

test("hookbox-edit has all that hookbox-view has; roles of Kubernetes get the four kinds alone", () => {
  expect(lacking(edit, requests.filter((request) => isGranted(view, rightOf(request)!)))).toEqual([]);
  const aggregated = roles.filter(({ metadata }) => metadata.name.includes("-aggregate-"));
  const targets = ({ metadata: { labels } }: Role) =>
    Object.keys(labels).flatMap((key) => /aggregate-to-(.*)/.exec(key)?.[1] ?? []);
  expect(aggregated.map(targets)).toEqual([["view", "edit", "admin"], ["edit", "admin"]]);
  expect(roles.filter((role) => !aggregated.includes(role)).flatMap(targets)).toEqual([]);
  for (const { rules } of aggregated) {
    expect(rules.flatMap(({ apiGroups }) => apiGroups)).toEqual(["agents.x-k8s.io", "extensions.agents.x-k8s.io"]);
  }
});

/** Answers as an API server does to somebody who has these rules alone; `refused` grows. */
function under<A extends Api>(api: A, rules: readonly Rule[]): A & { refused: Set<string> } {
  const refused = new Set<string>();
  const refusalOf = (request: Pick<ApiRequest, "path"> & { method: string }): Answer | undefined => {
    const right = rightOf(request);
    // Everybody may ask what they may do.
    if (!right || right.resource.startsWith("selfsubject") || isGranted(rules, right)) return undefined;
    refused.add(wordsFor(right));
    return { status: 403, body: { kind: "Status", reason: "Forbidden", code: 403, message: "forbidden" } };
  };
  return {
    ...api,
    refused,
    send: async (request) => refusalOf(request) ?? await api.send(request),
    async watch(path, query, signal) {
      const refusal = refusalOf({ method: "WATCH", path });
      return refusal ? { ...refusal, events: (async function* () {})() } : await api.watch(path, query, signal);
    },
  };
}

const READING = [
  "get claims -A",
  "get sandboxes",
  "get pools -o wide",
  "get templates -o yaml",
  "get claim/mine -o json",
  "why claim/mine",
  "why pool/python",
  "why template/python",
  "why claim/lost",
  "why sandbox/own",
  "why nobody",
  "pool status -A",
  "pool simulate python",
  "logs mine",
  "describe claim/mine",
  "describe pool/python",
  "events mine",
  "wait mine --timeout 5s",
  "top --source metrics",
];
const CHANGING = [
  "create --pool python --name another",
  "create --image box --name from-image --no-wait",
  "create --template python --name from-template",
  "extend mine --from-now 1h",
  "suspend own",
  "resume own",
  "exec mine -- true",
  "ls mine:.",
  "rm own",
  "rm mine",
];

/** A cluster in memory with a claim that has its sandbox, one that waits, and a Sandbox of its own. */
async function world(rules: readonly Rule[]) {
  let held: ReturnType<typeof under> | undefined;
  const { setting, cluster } = await someSandboxes({}, (api) => held = under(api, rules));
  const claim = (name: string, warmPool: string) => ({
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxClaim",
    metadata: { name },
    spec: { warmPoolRef: { name: warmPool } },
  });
  await cluster.apply(claim("mine", "python"), claim("lost", "none"), sandbox("own"));
  await cluster.settle();
  return { setting, refused: () => [...held?.refused ?? []] };
}

test("with hookbox-view, the commands read all that they ask for", async () => {
  const { setting, refused } = await world(view);
  const codes = [];
  for (const line of READING) codes.push([line, (await run(line, setting)).code]);
  expect(refused()).toEqual([]);
  // In memory there are no logs, metrics and past claims, and what waits is not well.
  expect(codes.filter(([line, code]) => code !== 0 && !/logs|top|why|simulate/.test(String(line)))).toEqual([]);
});

test("with hookbox-view, nothing is changed", async () => {
  const { setting, refused } = await world(view);
  for (const line of ["create --pool python --name x", "suspend own", "rm mine"]) {
    expect((await run(line, setting)).code, line).not.toBe(0);
  }
  expect(refused()).toEqual([
    "create sandboxclaims.extensions.agents.x-k8s.io",
    "patch sandboxes.agents.x-k8s.io",
    "delete sandboxclaims.extensions.agents.x-k8s.io",
  ]);
});

test("with hookbox-edit, the commands that change sandboxes do what they should", async () => {
  const { setting, refused } = await world(edit);
  for (const line of CHANGING) expect(await run(line, setting), line).toMatchObject({ code: 0 });
  expect(refused()).toEqual([]);
});

/** Doctor asks these for operators. They would let somebody do more than look, or see Secrets. */
const OF_OPERATORS = [
  "get services/proxy",
  "create subjectaccessreviews.authorization.k8s.io",
  // The projects of E2B's clients and their API keys.
  "list secrets",
  "list rolebindings.rbac.authorization.k8s.io",
];

test.for([["hookbox-view", view], ["hookbox-edit", edit]] as const)(
  "with %s, doctor reads all objects that it asks for",
  async ([, rules]) => {
    const api = under(fakeApi(sound()), rules);
    onTestFinished(() => api.refused.clear());
    const { stdout } = await run("doctor --router http://r", { api, fetch });
    expect([...api.refused].filter((right) => !OF_OPERATORS.includes(right))).toEqual([]);
    expect(stdout).toContain("✓ RuntimeClasses");
  },
);

test("doctor finds that hookbox-edit is complete where there is a router", async () => {
  const api = fakeApi(sound());
  const send: Api["send"] = (request) => {
    const { spec } = (request.body ?? {}) as { spec?: { resourceAttributes?: Right & { subresource?: string } } };
    if (!spec?.resourceAttributes) return api.send(request);
    const { resource, subresource, ...right } = spec.resourceAttributes;
    const allowed = isGranted(edit, { ...right, resource: subresource ? `${resource}/${subresource}` : resource });
    return Promise.resolve({ status: 201, body: { status: { allowed } } });
  };
  const { stdout } = await run("doctor --router http://r", { api: { ...api, send }, fetch });
  expect(stdout).toMatch(/^✓ Your rights +complete for SDK and command line/m);
});
