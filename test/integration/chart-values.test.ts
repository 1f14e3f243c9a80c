/** What values of the chart add: labels of monitors, ways to the router from outside, roles; and what their schema says. @module */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { byName, DEPLOY, helm, nameOf, template } from "./chart.ts";
import type { Loose } from "./namespace.ts";

const set = (...values: string[]) => values.flatMap((value) => ["--set", value]);

test("monitors and alerts have the labels, the interval and the runbook that values set; Metacontroller may be elsewhere", async () => {
  const values = [
    ...["serviceMonitor=true", "prometheusRule=true", "dashboard=true", "labels.release=prom", "labels.team=a"],
    ...["interval=15s", "runbookURL=https://docs.example/alerts", "dashboardLabels.folder=x"],
  ].map((value) => `monitoring.${value}`);
  const elsewhere = [
    "hooks.networkPolicy.metacontrollerNamespace=engine",
    "hooks.networkPolicy.metacontrollerLabels.app=m",
  ];
  const objects = byName(
    await template("--namespace", "mine", ...set("e2b.enabled=true", ...values, ...elsewhere)),
  );
  const names = ["ServiceMonitor mine/hookbox", "PrometheusRule mine/hookbox"];
  const monitors = ["router", "metacontroller", "egress", "e2b"].map((name) => `PodMonitor mine/hookbox-${name}`);
  for (const name of [...names, ...monitors]) {
    expect(objects[name]?.metadata.labels, name).toMatchObject({ release: "prom", team: "a" });
  }
  const endpoints = [names[0]!, ...monitors].flatMap((name) => {
    const { endpoints = [], podMetricsEndpoints = [] } = objects[name]?.["spec"];
    return [...endpoints, ...podMetricsEndpoints];
  });
  expect(endpoints.map(({ interval }: Loose) => interval)).toEqual(Array(6).fill("15s"));
  const rules = objects[names[1]!]?.["spec"].groups.flatMap(({ rules }: Loose) => rules);
  for (const { annotations } of rules) {
    expect(annotations.runbook_url).toMatch(/^https:\/\/docs\.example\/alerts#hookbox/);
  }
  expect(JSON.stringify(rules)).toContain('job=\\"mine/hookbox-router\\"');
  expect(objects[monitors[1]!]?.["spec"]).toMatchObject({
    namespaceSelector: { matchNames: ["engine"] },
    selector: { matchLabels: { app: "m" } },
  });
  expect(objects["ConfigMap mine/hookbox-dashboard"]?.metadata.labels).toMatchObject({ folder: "x" });
  const without = byName(
    await template(...set("router.enabled=false", ...values)),
  );
  expect(without["PodMonitor hookbox-system/hookbox-router"]).toBeUndefined();
  const groups = without["PrometheusRule hookbox-system/hookbox"]?.["spec"].groups.map(({ name }: Loose) => name);
  expect(groups).toEqual(["hookbox"]);
  const default_ = byName(await template(...set(...values)));
  expect(default_["PodMonitor hookbox-system/hookbox-e2b"]).toBeUndefined();
  const groupsByDefault = default_["PrometheusRule hookbox-system/hookbox"]?.["spec"].groups;
  expect(groupsByDefault.map(({ name }: Loose) => name)).toEqual(["hookbox", "hookbox-router"]);
});

test("an Ingress and routes of the Gateway API lead to the router's Service where asked, and not without what they need", async () => {
  const kinds = ["GRPCRoute", "HTTPRoute", "Ingress"];
  const found = async (...values: string[]) =>
    (await template(...set(...values))).filter(({ kind }) => kinds.includes(kind));
  expect(await found()).toEqual([]);
  const wanted = [
    "router.ingress.enabled=true",
    "router.ingress.hosts={a.example,*.b.example}",
    "router.httpRoute.enabled=true",
    "router.httpRoute.parentRefs[0].name=web",
    "router.grpcRoute.enabled=true",
    "router.grpcRoute.parentRefs[0].name=web",
    "router.grpcRoute.hostnames={grpc.a.example}",
    "router.ingress.className=nginx",
    "router.ingress.tls[0].secretName=s",
  ];
  const [grpc, route, ingress] = (await found(...wanted)).sort((a, b) => a.kind < b.kind ? -1 : 1);
  const [service] = (await template()).filter(({ metadata }) => metadata.name === "sandbox-router-svc");
  for (const { metadata } of [ingress, route, grpc]) expect(metadata.namespace).toBe(service.metadata.namespace);
  expect(ingress.spec).toMatchObject({ ingressClassName: "nginx", tls: [{ secretName: "s" }] });
  expect(ingress.spec.rules.map(({ host }: Loose) => host)).toEqual(["a.example", "*.b.example"]);
  const port = { name: service.metadata.name, port: { name: service.spec.ports[0].name } };
  for (const { http } of ingress.spec.rules) {
    expect(http.paths).toEqual([{ path: "/", pathType: "Prefix", backend: { service: port } }]);
  }
  const backendRefs = [{ name: service.metadata.name, port: service.spec.ports[0].port }];
  const parentRefs = [{ name: "web" }];
  expect(route.spec).toEqual({ parentRefs, rules: [{ backendRefs, timeouts: { request: "0s" } }] });
  expect(grpc.spec).toEqual({ parentRefs, hostnames: ["grpc.a.example"], rules: [{ backendRefs }] });
  expect(await found(...wanted, "router.enabled=false")).toEqual([]);
  const needs = [["ingress", "hosts"], ["httpRoute", "parentRefs"], ["grpcRoute", "parentRefs"]];
  for (const [kind, what] of needs) {
    await expect(found(`router.${kind}.enabled=true`)).rejects.toThrow(
      `router.${kind}.enabled needs router.${kind}.${what}`,
    );
  }
  await expect(found("router.grpcRoute.enabled=true", "router.grpcRoute.parentRefs[0].name=web")).rejects.toThrow(
    "router.grpcRoute.enabled needs router.grpcRoute.hostnames",
  );
});

test("roles of Kubernetes are left alone where asked", async () => {
  const before = await template();
  const names = new Set((await template("--set", "userRoles.aggregate=false")).map(nameOf));
  expect(before.map(nameOf).filter((name) => !names.has(name)).sort()).toEqual([
    "ClusterRole /hookbox-aggregate-to-edit",
    "ClusterRole /hookbox-aggregate-to-view",
  ]);
});

/** Values without a description in the schema, by their paths. */
function undescribed(schema: Loose, defs: Loose, path = ""): string[] {
  const { $ref, allOf = [], properties = {} } = schema;
  const inner = [...allOf, ...($ref === undefined ? [] : [defs[$ref.split("/").at(-1)]])];
  const own = Object.entries<Loose>(properties).filter(([, value]) => value !== false).flatMap(([key, value]) => [
    ...(value.description === undefined ? [`${path}${key}`] : []),
    ...undescribed(value, defs, `${path}${key}.`),
  ]);
  return [...own, ...inner.flatMap((each) => undescribed(each, defs, path))];
}

test("the schema describes each value, and values.yaml has no other", () => {
  const schema = JSON.parse(readFileSync(`${DEPLOY}/chart/values.schema.json`, "utf8"));
  expect(undescribed(schema, schema.$defs)).toEqual([]);
  const values = parse(readFileSync(`${DEPLOY}/chart/values.yaml`, "utf8"));
  expect(Object.keys(values).filter((key) => schema.properties[key] === undefined)).toEqual([]);
  expect(Object.keys(schema.properties).filter((key) => values[key] === undefined)).toEqual(["global"]);
});

/** The lines of NOTES.txt that are commands. */
async function notes(...values: string[]): Promise<string> {
  const chart = `${DEPLOY}/chart`;
  const text = await helm("install", "hookbox", chart, "--namespace", "mine", "--dry-run=client", ...set(...values));
  return text.slice(text.indexOf("NOTES:"));
}

test("the notes name what the release has, page and token included, and no file of a checkout", async () => {
  const all = await notes();
  expect(all).toContain("kubectl -n mine wait deployment");
  expect(all).toContain("http://localhost:8080/.hookbox/");
  expect(all).toContain("kubectl -n default create token");
  expect(all).not.toMatch(/hookbox-system|examples\/|-f [a-z]/);
  const alone = await notes("router.enabled=false");
  expect(alone).toContain("sandbox/first");
  expect(alone).not.toMatch(/router|dashboard|token/);
});
