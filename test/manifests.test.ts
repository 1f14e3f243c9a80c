/** Files of controllers and of deploy/ agree with the code, and `hookbox manifests` says what is in them. @module */
import { networkInterfaces } from "node:os";
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { syncSandbox } from "../hooks/sandbox/sync.ts";
import { customizeSandboxWarmPool } from "../hooks/sandboxwarmpool/hook.ts";
import { freePorts } from "../dev/cluster/ports.ts";
import { SETTLE_MS } from "../packages/keeper/rollouts.ts";
import { renderManifests } from "../packages/manifests/render.ts";
import { SYNC_TIMEOUT_MS } from "../packages/webhook/metacontroller.ts";
import { hookNames } from "../hooks/all.ts";
import { until } from "./eventually.ts";
import { startMain } from "./mainprocess.ts";
import { syncPool } from "./poolcalls.ts";
import { aPool } from "./pools.ts";
import { aRequest, aSandbox, NOW } from "./sandboxes.ts";

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const files = (folder: string) =>
  readdirSync(new URL(`../${folder}/`, import.meta.url)).filter((file) =>
    file.endsWith(".yaml") && file !== "kustomization.yaml"
  ).sort();
const controller = (name: string, folder = "compositecontrollers") => parse(read(`${folder}/${name}.yaml`));

interface ChildRule {
  apiVersion: string;
  resource: string;
  updateStrategy: { method: string };
}
const methods = (rules: ChildRule[]) =>
  Object.fromEntries(
    rules.map(({ apiVersion, resource, updateStrategy }) => [`${apiVersion}/${resource}`, updateStrategy.method]),
  );

test("every hook has a controller of its name, and every controller a hook", () => {
  const controllers = ["compositecontrollers", "decoratorcontrollers"].flatMap(files);
  expect(controllers.map((file) => file.replace(".yaml", "")).sort()).toEqual(hookNames);
});

test("every kind that the Sandbox hook builds has a child rule, and volumes are never changed", () => {
  const byResource = methods(controller("sandbox").spec.childResources);
  expect(byResource).toEqual({
    "v1/persistentvolumeclaims": "OnDelete",
    "v1/pods": "InPlace",
    "v1/services": "InPlace",
  });
  const sandbox = aSandbox({ spec: { service: true, volumeClaimTemplates: [{ metadata: { name: "d" }, spec: {} }] } });
  const { children } = syncSandbox(aRequest(sandbox), NOW, { clusterDomain: "cluster.local" });
  const resources = children.map(({ apiVersion, kind }) => `${apiVersion}/${kind.toLowerCase()}s`);
  expect(Object.keys(byResource)).toEqual(expect.arrayContaining(resources));
});

test("pools and claims change their Sandboxes in place: anything else would delete the Sandbox when it is bound", () => {
  const inPlace = { "agents.x-k8s.io/v1beta1/sandboxes": "InPlace" };
  expect(methods(controller("sandboxwarmpool").spec.childResources)).toEqual(inPlace);
  expect(methods(controller("sandboxclaim", "decoratorcontrollers").spec.attachments)).toEqual(inPlace);
});

test("a pool's controller asks what it wants to see, in the hook's own words; a claim's does not", () => {
  const { customize, sync } = controller("sandboxwarmpool").spec.hooks;
  expect(customize).toMatchObject({ version: "v2", webhook: { timeout: "2s" } });
  expect(new URL(customize.webhook.url).origin).toBe(new URL(sync.webhook.url).origin);
  expect(new URL(customize.webhook.url).pathname).toBe("/sandboxwarmpool/customize");
  const wanted = customizeSandboxWarmPool(aPool()).map(({ apiVersion, resource }) => `${apiVersion}/${resource}`);
  expect(wanted).toEqual([
    "extensions.agents.x-k8s.io/v1beta1/sandboxtemplates",
    "networking.k8s.io/v1/networkpolicies",
  ]);
  expect(controller("sandboxclaim", "decoratorcontrollers").spec.hooks).not.toHaveProperty("customize");
});

test("claims are decorated under the name that pools write on Sandboxes, and not woken by status writes", () => {
  const { metadata, spec } = controller("sandboxclaim", "decoratorcontrollers");
  const [member] = syncPool({}).children;
  expect(member?.metadata.annotations).toMatchObject({ "metacontroller.k8s.io/decorator-controller": metadata.name });
  // The binder's status is what the hook begins with.
  expect(spec.resources).toMatchObject([{ resource: "sandboxclaims", ignoreStatusChanges: false }]);
  expect(spec.hooks.sync.version).toBe("v2");
});

test("every controller speaks version v2, generates selectors, and is not woken by its own status writes", () => {
  for (const file of files("compositecontrollers")) {
    const { spec } = controller(file.replace(".yaml", ""));
    expect(spec.generateSelector).toBe(true);
    expect(spec.parentResource.ignoreStatusChanges).toBe(true);
    expect(spec.hooks.sync.version).toBe("v2");
  }
});

test("Metacontroller waits for an answer as long as the hooks' server counts on", () => {
  const timeouts = ["compositecontrollers", "decoratorcontrollers"].flatMap((folder) =>
    files(folder).map((file) => controller(file.replace(".yaml", ""), folder).spec.hooks.sync.webhook.timeout)
  );
  expect(timeouts).toEqual(hookNames.map(() => `${SYNC_TIMEOUT_MS / 1000}s`));
});

test("the keeper has objects asked about after a rollout once the old hook's Pods are gone", () => {
  for (const file of files("deploy/hooks").filter((file) => hookNames.includes(file.replace(".yaml", "")))) {
    const [{ spec }] = parseAllDocuments(read(`deploy/hooks/${file}`)).map((document) => document.toJS());
    const { seconds } = spec.template.spec.containers[0].lifecycle.preStop.sleep;
    expect(seconds * 1000, file).toBeLessThan(SETTLE_MS);
  }
});

test("renderManifests() gives CRDs first, then controllers that call <URL>/<hook>/sync", () => {
  const documents = parseAllDocuments(renderManifests("http://127.0.0.1:9000/")).map((document) => document.toJS());
  const kinds = documents.map(({ kind }) => kind);
  expect(kinds.lastIndexOf("CustomResourceDefinition")).toBeLessThan(kinds.indexOf("CompositeController"));
  expect(kinds.filter((kind) => kind === "CustomResourceDefinition")).toHaveLength(files("crds").length);
  const [sandbox] = documents.filter(({ kind, metadata }) =>
    kind === "CompositeController" && metadata.name === "sandbox"
  );
  expect(sandbox.spec.hooks.sync.webhook.url).toBe("http://127.0.0.1:9000/sandbox/sync");
  expect(sandbox.spec.childResources).toEqual(controller("sandbox").spec.childResources);
});

test("renderManifests() without a URL keeps the files' own; a URL that is none is refused", () => {
  expect(renderManifests(undefined)).toContain(controller("sandbox").spec.hooks.sync.webhook.url);
  expect(() => renderManifests("localhost:9000")).toThrow('Cannot use hooks URL "localhost:9000"');
});

/** Some machines have none. */
const hasIPv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === "::1"));
test.runIf(hasIPv6)("with --host=:: a hook listens on IPv6 by the leave that Deno has in deploy/", async () => {
  const leaveOf = (path: string): string[] => {
    const [deployment] = parseAllDocuments(read(path)).map((document) => document.toJS());
    const { command } = deployment.spec.template.spec.containers[0];
    return command.filter((part: string) => part.startsWith("--allow-"));
  };
  const leave = leaveOf("deploy/hooks/sandbox.yaml");
  const ofConversion = leave[0]?.replaceAll("8080", "8443").replace(",0.0.0.0:9090,[::]:9090", "");
  expect(leaveOf("deploy/v1alpha1/conversion.yaml")).toContain(ofConversion);
  const [port = 0, metricsPort = 0] = await freePorts(2);
  const args = ["run", "--no-prompt", "--cached-only", ...leave, "hooks/sandbox/main.ts", "--host=::"];
  const ports = ["--port=8080", "--metrics-port=9090"];
  const moved = [...args, ...ports].map((arg) =>
    arg.replaceAll("8080", String(port)).replaceAll("9090", String(metricsPort))
  );
  await startMain("deno", moved, "Listening");
  expect((await fetch(`http://[::1]:${port}/healthz`)).status).toBe(200);
  await until(() => fetch(`http://[::1]:${metricsPort}/metrics`).then(({ status }) => status === 200, () => false));
});

test.for(["keeper", "binder"])("the %s is reached by namespaces with the label for metrics alone", (name) => {
  const documents = parseAllDocuments(read(`deploy/${name}/${name}.yaml`)).map((document) => document.toJS());
  const specOf = (wanted: string) => documents.find(({ kind }) => kind === wanted)?.spec;
  const { podSelector, ...policy } = specOf("NetworkPolicy");
  expect(specOf("Deployment").template.metadata.labels).toMatchObject(podSelector.matchLabels);
  const from = [{ namespaceSelector: { matchLabels: { metrics: "enabled" } } }];
  expect(policy).toEqual({ policyTypes: ["Ingress"], ingress: [{ from, ports: [{ port: "http" }] }] });
});

test("hooks are reached by Metacontroller alone, and at the port of their metrics alone by namespaces with the label", () => {
  const { spec } = parse(read("deploy/hooks/networkpolicy.yaml"));
  const [calls, scrapes, ...more] = spec.ingress;
  expect(calls.ports).toEqual([{ port: "http" }]);
  expect(calls.from).toEqual([{
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "metacontroller" } },
    podSelector: expect.anything(),
  }]);
  expect([scrapes, ...more]).toEqual([{
    from: [{ namespaceSelector: { matchLabels: { metrics: "enabled" } } }],
    ports: [{ port: "metrics" }],
  }]);
  for (const file of files("deploy/hooks").filter((name) => name.startsWith("sandbox"))) {
    const [deployment] = parseAllDocuments(read(`deploy/hooks/${file}`)).map((document) => document.toJS());
    const [container] = deployment.spec.template.spec.containers;
    const port = container.ports.find(({ name }: { name: string }) => name === "metrics");
    expect(container.args ?? container.command, file).toContain(`--metrics-port=${port.containerPort}`);
    expect(deployment.spec.template.metadata.labels, file).toMatchObject(spec.podSelector.matchLabels);
  }
});

test("scraped metrics keep their labels: a target has a namespace and an endpoint of its own", () => {
  const { spec } = parse(read("deploy/monitoring/servicemonitor.yaml"));
  expect(spec.endpoints).toMatchObject([{ port: "metrics", honorLabels: true }, { port: "http", honorLabels: true }]);
  const [{ action, regex }] = spec.endpoints[1].relabelings;
  expect([action, regex], "hooks are not scraped where they are called").toEqual(["drop", "hook"]);
});

test("alerts look at five minutes: at an interval of 60 s, one minute has a single sample, which is not enough", () => {
  const ranges = [...read("deploy/monitoring/prometheusrule.yaml").matchAll(/\[(\w+)\]/g)].map(([, range]) => range);
  expect(ranges.length).toBeGreaterThan(3);
  expect(new Set(ranges)).toEqual(new Set(["5m"]));
});
