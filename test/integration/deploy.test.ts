/** deploy/, as `kubectl apply -k` takes it: what it is made of, what an API server says to it, and what the CLI makes of it. @module */
import { readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { bundleObjects, renderBundle } from "../../packages/cli/install/bundle.ts";
import { readOptions } from "../../packages/router/options.ts";
import { matcherOf } from "../../packages/testing/store/selectors.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { run } from "./kubectl.ts";
import { type Loose, makeNamespace } from "./namespace.ts";
import { type BareCluster, shared } from "./shared.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const HARDENED = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
};

/** All of an installation. What users' Sandboxes are in is apart. */
const ALL = ["deploy/namespaces", "crds", "deploy"];

let cluster: BareCluster;
let objects: Loose[];
beforeAll(async () => {
  cluster = await shared("bare");
  const texts = await Promise.all(ALL.map((folder) => run(cluster, ["kustomize", `${ROOT}${folder}`])));
  objects = texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS()));
});

test("hookbox install --e2b adds the objects of deploy/e2b", async () => {
  const options = { namespace: "hookbox-system", processes: true };
  const names = new Set(bundleObjects(renderBundle(options)).map((object) => nameOf(object as unknown as Loose)));
  const installed = bundleObjects(renderBundle({ ...options, e2b: true })) as unknown as Loose[];
  const added = installed.filter((object) => !names.has(nameOf(object)));
  const text = await run(cluster, ["kustomize", `${ROOT}deploy/e2b`]);
  const wanted = parseAllDocuments(text).map((document) => document.toJS() as Loose);
  const byName = (list: Loose[]) => Object.fromEntries(list.map((object) => [nameOf(object), object]));
  expect(byName(added)).toEqual(byName(wanted));
});

const of = (kind: string) => objects.filter((object) => object["kind"] === kind);
const nameOf = ({ kind, metadata }: Loose) => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;

test("hookbox install brings the same objects", () => {
  const byName = (list: Loose[]) => Object.fromEntries(list.map((object) => [nameOf(object), object]));
  const installed = bundleObjects(renderBundle({ namespace: "hookbox-system", processes: true })) as unknown as Loose[];
  expect(byName(installed)).toEqual(byName(objects));
});

test.for([...ALL, "deploy/e2b", "deploy/v1alpha1", "deploy/v1alpha1/crds"])(
  "an API server takes each object of %s as it is, with nothing unknown and nothing to warn of",
  async (folder) => {
    for (const namespace of ["hookbox-system", "agent-sandbox-system"]) {
      await run(cluster, ["create", "namespace", namespace]).catch((error: Error) => {
        if (!error.message.includes("already exists")) throw error;
      });
    }
    const all = parseAllDocuments(await run(cluster, ["kustomize", `${ROOT}${folder}`])).map((one) => one.toJS());
    const others = /^(metacontroller\.k8s\.io|cert-manager\.io)\//;
    const ours = all.filter(({ apiVersion }: Loose) => !others.test(apiVersion));
    const args = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict"];
    const text = ours.map((object) => JSON.stringify(object)).join("\n---\n");
    const said = await run(cluster, [...args, "--warnings-as-errors", "-f", "-"], text);
    expect(said.trim().split("\n")).toHaveLength(ours.length);
  },
);

test.for(
  [
    ["allow-all", { authz: { mode: "allow-all" } }],
    ["signed-urls", {
      authz: { mode: "scoped-token", secretFile: "/etc/tokens/secret" },
      pathRoutingPrefix: "/sandboxes",
      browser: { authzCookieQueryParam: "token" },
    }],
  ] as const,
)("the component %s changes the router, which can read its options, and nothing else", async ([name, wanted]) => {
  const folder = makeTempFolder();
  const at = (path: string) => relative(realpathSync(folder), `${ROOT}${path}`);
  const kustomization = { resources: [at("deploy")], components: [at(`deploy/router/${name}`)] };
  writeFileSync(join(folder, "kustomization.yaml"), JSON.stringify(kustomization));
  const changed = parseAllDocuments(await run(cluster, ["kustomize", folder])).map((one) => one.toJS() as Loose);
  const before = new Map(objects.map((object) => [nameOf(object), JSON.stringify(object)]));
  const [router, ...others] = changed.filter((object) => JSON.stringify(object) !== before.get(nameOf(object)));
  expect([router && nameOf(router), others]).toEqual(["Deployment agent-sandbox-system/sandbox-router", []]);
  const [{ args, volumeMounts = [] }] = router?.["spec"].template.spec.containers;
  expect(readOptions(args.slice(1))).toMatchObject(wanted);
  const volumes = (router?.["spec"].template.spec.volumes ?? []) as { name: string }[];
  expect(volumeMounts.map((mount: { name: string }) => mount.name)).toEqual(volumes.map((volume) => volume.name));
});

test("each process is hardened alike, runs twice, is asked whether it is well, and is not put out twice at a time", () => {
  const deployments = of("Deployment");
  expect(deployments.map(({ metadata }) => metadata.name).sort()).toEqual([
    ...["hookbox-binder", "hookbox-keeper"],
    ...["sandbox", "sandbox-router", "sandboxclaim", "sandboxtemplate", "sandboxwarmpool"],
  ]);
  for (const { metadata, spec } of deployments) {
    const { securityContext, topologySpreadConstraints, containers } = spec.template.spec;
    const [container, ...others] = containers;
    expect(others).toEqual([]);
    expect(spec.replicas).toBe(2);
    expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
    expect(container.securityContext).toEqual(HARDENED);
    // A busy node answers late, and all Pods of a hook would be unready at once.
    expect(container).toMatchObject({
      readinessProbe: { timeoutSeconds: 5 },
      livenessProbe: { timeoutSeconds: 5, failureThreshold: 6 },
    });
    expect(container.resources).toMatchObject({
      requests: { cpu: expect.anything() },
      limits: { memory: expect.anything() },
    });
    const own = { matchLabels: spec.selector.matchLabels };
    expect(topologySpreadConstraints).toMatchObject([{ labelSelector: own }]);
    const budget = of("PodDisruptionBudget").find((each) => each.metadata.name === metadata.name);
    expect(budget).toMatchObject({ metadata: { namespace: metadata.namespace }, spec: { selector: own } });
  }
});

test("Pod Security takes Pods of each process where it is restricted, though the router's namespace only warns", async () => {
  const { metadata } = of("Namespace").find(({ metadata }) => metadata.name === "agent-sandbox-system")!;
  expect(metadata.labels).not.toHaveProperty("pod-security.kubernetes.io/enforce");
  const ns = await makeNamespace(cluster);
  await run(cluster, ["label", "namespace", ns.name, "pod-security.kubernetes.io/enforce=restricted"]);
  const pods = of("Deployment").map(({ metadata: { name }, spec: { template } }) => {
    // Its account is in another namespace.
    const { serviceAccountName: _, ...spec } = template.spec;
    return { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: ns.name }, spec };
  });
  const text = JSON.stringify({ apiVersion: "v1", kind: "List", items: pods });
  const said = await run(cluster, ["create", "--dry-run=server", "-f", "-"], text);
  expect(said.trim().split("\n")).toHaveLength(pods.length);
});

test("all processes are of this version, and its changelog's", () => {
  const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8"));
  for (const { spec } of of("Deployment")) expect(spec.template.spec.containers[0].image).toBe(`hookbox:${version}`);
  expect(readFileSync(`${ROOT}deploy/Containerfile`, "utf8")).toContain(`-t hookbox:${version} `);
});

const VARIABLES: Record<string, string[]> = {
  sandboxclaim: ["--allow-env=HOOKBOX_ALLOWED_LABEL_DOMAINS,HOOKBOX_ALLOWED_ANNOTATION_DOMAINS"],
  sandboxwarmpool: ["--allow-env=HOOKBOX_TEMPLATE_NETWORK_POLICY"],
};
const LEAVE = "0.0.0.0:8080,[::]:8080,0.0.0.0:9090,[::]:9090";

test("every hook that a controller calls has a Service there, on the port that its process listens on until callers know better", () => {
  const urls = [...of("CompositeController"), ...of("DecoratorController")].flatMap(({ spec }) =>
    Object.values(spec.hooks as Record<string, Loose>).map(({ webhook }) => new URL(webhook.url))
  );
  expect(urls).toHaveLength(6);
  for (const { hostname, port } of urls) {
    const [name, namespace] = hostname.split(".");
    const service = of("Service").find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
    expect(service?.["spec"].ports).toMatchObject([
      { port: Number(port), targetPort: "http" },
      { port: 9090, targetPort: "metrics" },
    ]);
    const deployment = of("Deployment").find(({ metadata }) => metadata.name === name);
    expect(deployment?.["spec"].template.metadata.labels).toMatchObject(service?.["spec"].selector);
    expect(deployment?.["spec"].template.spec).toMatchObject({
      automountServiceAccountToken: false,
      containers: [{
        command: [
          "/opt/hookbox/deno",
          "run",
          "--quiet",
          `--allow-net=${LEAVE}`,
          ...VARIABLES[name ?? ""] ?? [],
          `hooks/${name}.js`,
        ],
        args: ["--port=8080", "--metrics-port=9090"],
        ports: [{ name: "http", containerPort: 8080 }, { name: "metrics", containerPort: 9090 }],
        lifecycle: { preStop: { sleep: { seconds: 3 } } },
      }],
    });
  }
});

test("hooks are open to Metacontroller's Pods, whether its manifests or its own chart have made them", () => {
  const policy = of("NetworkPolicy").find(({ metadata }) => metadata.name === "hooks");
  const [{ podSelector, namespaceSelector }] = policy!["spec"].ingress[0].from;
  expect(namespaceSelector).toEqual({ matchLabels: { "kubernetes.io/metadata.name": "metacontroller" } });
  const isOpenTo = (name: string) => matcherOf(podSelector)({ "app.kubernetes.io/name": name });
  expect(["metacontroller", "metacontroller-helm", "stranger"].map(isOpenTo)).toEqual([true, true, false]);
});

test("what scrapes metrics of hooks reaches their port of metrics, and not the one where they are called", () => {
  const { ingress } = of("NetworkPolicy").find(({ metadata }) => metadata.name === "hooks")!["spec"];
  const portsOf = (label: string) =>
    ingress.filter((rule: Loose) => JSON.stringify(rule.from).includes(label)).map(({ ports }: Loose) => ports);
  expect(portsOf("metrics")).toEqual([[{ port: "metrics" }]]);
  expect(portsOf("metacontroller")).toEqual([[{ port: "http" }]]);
});

test("the router is where clients of these APIs look for it, and where the NetworkPolicies of templates let it in", () => {
  const service = of("Service").find(({ metadata }) => metadata.name === "sandbox-router-svc");
  expect(service).toMatchObject({ metadata: { namespace: "agent-sandbox-system" }, spec: { ports: [{ port: 8080 }] } });
  const deployment = of("Deployment").find(({ metadata }) => metadata.namespace === "agent-sandbox-system");
  expect(deployment?.["spec"].template.metadata.labels).toMatchObject({ app: "sandbox-router" });
});

test("the policies hold the accounts that the processes have", () => {
  for (const policy of of("ValidatingAdmissionPolicy")) {
    const [, namespace, name] = /serviceaccount:([a-z-]+):([a-z-]+)/.exec(JSON.stringify(policy["spec"])) ?? [];
    const account = of("ServiceAccount").find(({ metadata }) => metadata.name === name);
    expect(account?.metadata.namespace, name).toBe(namespace);
    const process = of("Deployment").find(({ spec }) => spec.template.spec.serviceAccountName === name);
    expect(process?.metadata.namespace).toBe(namespace);
  }
});

test("Metacontroller is patched where its own manifests have it, and has rights to no more than our kinds", () => {
  const read = (name: string) => parse(readFileSync(`${ROOT}deploy/metacontroller/${name}.yaml`, "utf8"));
  expect(read("kustomization").resources).toEqual([expect.stringMatching(/\/manifests\/production\?ref=v4\.17\.\d+$/)]);
  expect(read("statefulset").spec.template.spec.containers[0].args).toContain("--client-go-qps=1000");
  const rules: { apiGroups: string[]; resources: string[]; verbs: string[] }[] = read("rights")[0].value;
  const all = rules.flatMap(({ apiGroups, resources, verbs }) => [...apiGroups, ...resources, ...verbs]);
  expect(all).not.toContain("*");
  expect(all).not.toContain("secrets");
});
