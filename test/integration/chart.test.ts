/** The Helm chart: the same objects as deploy/, but for what its values say. @module */
import { Buffer } from "node:buffer";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { byName, DEPLOY, helm, KEEPER, nameOf, template } from "./chart.ts";
import { run } from "./kubectl.ts";
import type { Loose } from "./namespace.ts";
import { shared } from "./shared.ts";

const MANAGED_BY = "app.kubernetes.io/managed-by";

/** Without what Helm says of itself, and with the pull policy that Kubernetes would set. */
function plain(object: Loose): Loose {
  const { [MANAGED_BY]: _, "helm.sh/chart": __, ...labels } = object.metadata.labels ?? {};
  const { "helm.sh/resource-policy": ___, ...annotations } = object.metadata.annotations ?? {};
  const metadata = { ...object.metadata, labels, annotations };
  const text = JSON.stringify({ ...object, metadata });
  return JSON.parse(text.replaceAll('"imagePullPolicy":"IfNotPresent",', ""));
}

const kustomized: Loose[] = [];
beforeAll(async () => {
  const folders = [`${DEPLOY}/namespaces`, `${DEPLOY}/../crds`, DEPLOY];
  for (const folder of folders) {
    const text = await run(await shared("bare"), ["kustomize", folder]);
    kustomized.push(...parseAllDocuments(text).map((document) => document.toJS()));
  }
});

test("by default it makes what deploy/ has; Helm makes its own namespace", async () => {
  // The chart's own is Helm's to make.
  const wanted = kustomized.filter((object) => nameOf(object) !== "Namespace /hookbox-system");
  // In place of the label that deploy/namespaces gives it.
  const made = (await template()).filter(({ metadata }) => metadata.name !== "hookbox-pod-security");
  expect(byName(made.map(plain))).toEqual(byName(wanted.map(plain)));
});

test("CRDs stay when the chart goes, and need not come with it", async () => {
  const crds = (await template()).filter(({ kind }) => kind === "CustomResourceDefinition");
  expect(crds).toHaveLength(4);
  for (const { metadata } of crds) expect(metadata.annotations).toEqual({ "helm.sh/resource-policy": "keep" });
  const without = await template("--set", "crds.install=false");
  expect(without.filter(({ kind }) => kind === "CustomResourceDefinition")).toEqual([]);
});

test("the router's namespace stays when the chart goes, or the router", async () => {
  const [namespace] = (await template()).filter(({ kind }) => kind === "Namespace");
  expect(namespace?.metadata.annotations).toEqual({ "helm.sh/resource-policy": "keep" });
});

test("values change one process, and no other", async () => {
  const values = {
    "hooks.sandbox.tag": "9.9.9",
    "hooks.sandbox.replicas": "5",
    "hooks.sandbox.args[0]": "--cluster-domain=c.example",
    "hooks.sandbox.nodeSelector.disk": "ssd",
    "keeper.resources.limits.memory": "3Gi",
  };
  const changed = byName(await template(...Object.entries(values).flatMap(([key, to]) => ["--set", `${key}=${to}`])));
  const before = byName(await template());
  const differ = Object.keys(before).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(changed[name]));
  const hook = "Deployment hookbox-system/sandbox";
  expect(new Set(differ)).toEqual(new Set([hook, KEEPER]));
  expect(changed[hook]?.["spec"]).toMatchObject({
    replicas: 5,
    template: {
      spec: {
        nodeSelector: { disk: "ssd" },
        containers: [{
          image: "hookbox:9.9.9",
          args: ["--port=8080", "--metrics-port=9090", "--cluster-domain=c.example"],
        }],
      },
    },
  });
  const { resources } = changed[KEEPER]?.["spec"].template.spec.containers[0];
  expect(resources).toEqual({ limits: { memory: "3Gi" } });
});

test("the policy that keeps managedFields away is there where the API server knows such a thing", async () => {
  const kind = "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy";
  const policies = async (...args: string[]) =>
    (await template(...args)).filter(({ kind }) => kind.startsWith("Mutating")).map(plain);
  const wanted = parseAllDocuments(await run(await shared("bare"), ["kustomize", `${DEPLOY}/managedfields`]));
  expect(await policies("--api-versions", kind)).toEqual(wanted.map((document) => plain(document.toJS())));
  expect(await policies("--kube-version", "1.34.0")).toEqual([]);
});

test("in another namespace nothing is left behind in the default one", async () => {
  const text = JSON.stringify(await template("--namespace", "mine"));
  expect(text).not.toContain("hookbox-system");
  expect(text).toContain("http://sandbox.mine:8080/sandbox/sync");
  expect(text).toContain("system:serviceaccount:mine:hookbox-keeper");
  // Clients of these APIs look for the router there, whatever the release's namespace.
  expect(text).toContain("system:serviceaccount:agent-sandbox-system:hookbox-router");
});

test("the router stays away where asked", async () => {
  const objects = await template("--set", "router.enabled=false");
  expect(objects.filter(({ metadata }) => metadata.namespace === "agent-sandbox-system")).toEqual([]);
});

test("each NetworkPolicy stays away where asked, and no other", async () => {
  const policies = async (...args: string[]) =>
    (await template(...args)).filter(({ kind }) => kind === "NetworkPolicy").map(({ metadata }) => metadata.name)
      .sort();
  const all = { hooks: "hooks", keeper: "hookbox-keeper", binder: "hookbox-binder" };
  expect(await policies()).toEqual(Object.values(all).sort());
  for (const [process, name] of Object.entries(all)) {
    const left = await policies("--set", `${process}.networkPolicy.enabled=false`);
    expect(left).toEqual(Object.values(all).filter((each) => each !== name).sort());
  }
});

test("Metacontroller may be elsewhere, and have other labels", async () => {
  const at = "hooks.networkPolicy.metacontroller";
  const objects = byName(await template("--set", `${at}Namespace=engine`, "--set", `${at}Labels.app=meta`));
  expect(objects["NetworkPolicy hookbox-system/hooks"]?.["spec"].ingress[0].from[0]).toEqual({
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "engine" } },
    podSelector: { matchLabels: { app: "meta" } },
  });
  const closed = ["binder", "keeper", "keeper-records", "router", "router-records"].map((name) => {
    const policy = objects[`ValidatingAdmissionPolicy /hookbox-${name}`];
    return (policy?.["spec"].validations as { expression: string }[]).flatMap(({ expression }) =>
      /request\.namespace in \[(.*?)\]/.exec(expression)?.[1] ?? []
    );
  });
  expect(closed).toEqual(Array(5).fill(['"hookbox-system", "engine"']));
});

test("every process takes volumes, in addition to those that it has", async () => {
  const volumes = [{ name: "more", secret: { secretName: "mine" } }];
  const volumeMounts = [{ name: "more", mountPath: "/etc/more", readOnly: true }];
  const hooks = ["sandbox", "sandboxclaim", "sandboxtemplate", "sandboxwarmpool"].map((name) => `hooks.${name}`);
  const processes = [...hooks, "keeper", "binder", "router", "e2b", "v1alpha1"];
  const values = processes.flatMap((process) => [
    ...["--set-json", `${process}.volumes=${JSON.stringify(volumes)}`],
    ...["--set-json", `${process}.volumeMounts=${JSON.stringify(volumeMounts)}`],
  ]);
  const objects = await template("--set", "v1alpha1.enabled=true", "--set", "e2b.enabled=true", ...values);
  const pods = objects.filter(({ kind }) => kind === "Deployment").map(({ spec }) => spec.template.spec);
  expect(pods).toHaveLength(processes.length);
  for (const pod of pods) {
    expect(pod.volumes.at(-1)).toEqual(volumes[0]);
    expect(pod.containers[0].volumeMounts.at(-1)).toEqual(volumeMounts[0]);
  }
  // What the conversion hook, the binder, the router and the API for E2B's SDKs need of their own stays.
  expect(pods.map((pod) => pod.volumes.length).sort()).toEqual([...Array(processes.length - 4).fill(1), 2, 2, 2, 2]);
});

test("ServiceMonitor, PrometheusRule and dashboard come where asked, the same as those of deploy/monitoring", async () => {
  const values = ["serviceMonitor", "prometheusRule", "dashboard"].flatMap((
    key,
  ) => ["--set", `monitoring.${key}=true`]);
  const text = await run(await shared("bare"), ["kustomize", `${DEPLOY}/monitoring`]);
  const wanted = parseAllDocuments(text).map((document) => document.toJS());
  const all = ["--set", "e2b.enabled=true"];
  const before = new Set((await template(...all)).map(nameOf));
  const added = (await template(...all, ...values)).filter((object) => !before.has(nameOf(object)));
  expect(byName(added.map(plain))).toEqual(byName(wanted.map(plain)));
});

test("v1alpha1 comes where asked: both versions in the CRDs, and a hook whose certificate they trust", async () => {
  const texts = await Promise.all(
    ["", "/crds"].map(async (part) => await run(await shared("bare"), ["kustomize", `${DEPLOY}/v1alpha1${part}`])),
  );
  const wanted = texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS()))
    .filter(({ apiVersion }) => !apiVersion.startsWith("cert-manager.io/"));
  const objects = byName((await template("--set", "v1alpha1.enabled=true", "--namespace", "mine")).map(plain));
  const { data } = objects["Secret mine/hookbox-conversion-tls"]!;
  const decoded = (key: string) => Buffer.from(data[key], "base64").toString();
  const [authority, certificate] = ["ca.crt", "tls.crt"].map((key) => new X509Certificate(decoded(key)));
  expect(certificate!.checkIssued(authority!)).toBe(true);
  expect(certificate!.checkPrivateKey(createPrivateKey(decoded("tls.key")))).toBe(true);
  expect(certificate!.checkHost("conversion.mine.svc")).toBe("conversion.mine.svc");
  for (const object of wanted) {
    const { "cert-manager.io/inject-ca-from": _, ...annotations } = object.metadata.annotations ?? {};
    const moved = { ...object, metadata: { ...object.metadata, annotations } };
    const mine = JSON.parse(JSON.stringify(plain(moved)).replaceAll('"hookbox-system"', '"mine"'));
    if (mine.kind === "CustomResourceDefinition") {
      mine.spec.conversion.webhook.clientConfig.caBundle = data["ca.crt"];
    }
    expect(objects[nameOf(mine)]).toEqual(mine);
  }
});

test.for([
  ["image.repositry=x", "repositry"],
  ["podSecurity.level=baseline", "level"],
  ["keeper.certificate.days=1", "certificate"],
  ["hooks.sandbox.replicas=many", "replicas"],
  ["image.pullPolicy=Sometimes", "pullPolicy"],
  ...["hooks.sandbox", "keeper", "binder"].flatMap((process) => [
    [`${process}.enabled=false`, "enabled"],
    [`${process}.createNamespace=false`, "createNamespace"],
  ]),
  ["v1alpha1.createNamespace=false", "createNamespace"],
  ["hooks.sandbox.networkPolicy.enabled=false", "networkPolicy"],
  ["router.networkPolicy.enabled=false", "networkPolicy"],
  ["keeper.ingress.enabled=true", "ingress"],
  ["router.ingress.host=a.example", "host"],
  ["monitoring.interval=often", "interval"],
  // A key with nothing below it but comments is null, which takes the chart's own values away.
  ..."image claims crds hooks keeper binder router userRoles v1alpha1 tracing cloudEvents monitoring".split(" ")
    .map((key) => [`${key}=null`, `missing property '${key}'`]),
  ["hooks.networkPolicy=null", "missing property 'networkPolicy'"],
  ["image.repository=null", "missing property 'repository'"],
  ...["podAnnotations", "podLabels", "nodeSelector"].map((key) => [`keeper.${key}.a=true`, `keeper/${key}/a`]),
])("a value that means nothing is refused by its name: %s", async ([value = "", name]) => {
  await expect(template("--set", value)).rejects.toThrow(name);
});

test("helm lint has nothing to complain of", async () => {
  const stdout = await helm("lint", "--strict", `${DEPLOY}/chart`);
  expect(stdout).toContain("0 chart(s) failed");
});

test("only the hook of templates gets the networks that sandboxes must not reach", async () => {
  const argsOf = async (...args: string[]) =>
    Object.fromEntries(
      (await template(...args)).filter(({ kind }) => kind === "Deployment").map(({ metadata, spec }) => [
        metadata.name,
        spec.template.spec.containers[0].args,
      ]),
    );
  const { sandboxtemplate, ...others } = await argsOf(
    ...["--set", "templateNetworkPolicy.deniedEgressCIDRs={100.64.0.0/10,240.0.0.0/4}"],
  );
  expect(sandboxtemplate).toContain("--denied-egress-cidrs=100.64.0.0/10,240.0.0.0/4");
  expect(JSON.stringify([others, await argsOf()].map((args) => Object.entries(args)))).not.toContain("--denied-egress");
});
