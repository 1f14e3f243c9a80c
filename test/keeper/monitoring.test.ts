/**
 * Alerts and dashboard ask for metrics that there are, and each alert has a section of the runbook.
 * test/integration/monitoring.test.ts evaluates the expressions on what real processes serve. @module
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { createE2BMetrics } from "../../packages/e2b/metrics.ts";
import { createEgressMetrics } from "../../packages/egress/metrics.ts";
import { createKeeperMetrics } from "../../packages/keeper/metrics.ts";
import { createRegistry } from "../../packages/process/observability.ts";
import { createRouterMetrics } from "../../packages/router/observe/metrics.ts";
import { createHookMetrics } from "../../packages/webhook/telemetry.ts";
import { METACONTROLLER_METRICS } from "../monitored.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(`${ROOT}/${path}`, "utf8");

interface Rule {
  alert: string;
  expr: string;
  labels: Record<string, string>;
  annotations: { summary: string; runbook_url: string };
}
interface Panel {
  title: string;
  type: string;
  targets?: { expr: string }[];
  gridPos: { x: number; y: number; w: number; h: number };
}
interface Monitor {
  kind: string;
  metadata: { labels: Record<string, string> };
  spec: {
    selector: { matchLabels?: Record<string, string> };
    endpoints?: { port?: string }[];
    podMetricsEndpoints?: { port?: string }[];
    namespaceSelector: { matchNames: string[] };
  };
}

const { spec, metadata } = parse(read("deploy/monitoring/prometheusrule.yaml")) as {
  spec: { groups: { rules: Rule[] }[] };
  metadata: Monitor["metadata"];
};
const rules = spec.groups.flatMap(({ rules }) => rules);
const dashboard = JSON.parse(read("deploy/monitoring/dashboard.json")) as {
  panels: Panel[];
  templating: { list: { name: string; type: string; allValue?: string }[] };
};
const panels = dashboard.panels.filter(({ type }) => type !== "row");
const expressions = [
  ...rules.map(({ alert, expr }) => ({ of: alert, expr })),
  ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ of: title, expr }))),
];

/** Names in what the processes serve, also of metrics that have no value yet. */
const texts = [
  ...await Promise.all(
    [
      ...[createKeeperMetrics(), createRouterMetrics(), createHookMetrics()],
      createEgressMetrics(createRegistry(false), () => "unknown", () => 0),
      createE2BMetrics(createRegistry(false)),
    ].map((each) => each.text()),
  ),
  METACONTROLLER_METRICS,
  "# TYPE up gauge",
];
const served = new Set(texts.flatMap((text) => [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)));

test.for(expressions)("$of: $expr", ({ expr }) => {
  const names = [
    ...expr.replaceAll(/by \([^)]*\)/g, "").matchAll(
      /\b[a-z0-9_]+(?=[{[]| unless | offset |\)| [<>])|\b(?:hookbox|agent)_[a-z0-9_]+/g,
    ),
  ];
  const metrics = names.map(([name]) => name.replace(/_bucket$/, "")).filter((name) => /_|^up$/.test(name));
  expect(metrics.length).toBeGreaterThan(0);
  expect(metrics.filter((metric) => !served.has(metric))).toEqual([]);
});

/** The anchor that GitHub and VitePress make of a headline. */
const anchors = [...read("docs/alerts.md").matchAll(/^## (.+)$/gm)].map(([, title = ""]) => title.toLowerCase());

test("each alert has a severity and a section of the runbook, and each section is about an alert", () => {
  const urls = rules.map(({ annotations }) => new URL(annotations.runbook_url));
  for (const { alert, annotations, labels } of rules) {
    expect(new URL(annotations.runbook_url).hash, alert).toBe(`#${alert.toLowerCase()}`);
    expect(["warning", "critical"]).toContain(labels["severity"]);
  }
  expect(new Set(urls.map(({ origin, pathname }) => origin + pathname)).size).toBe(1);
  const ofAlerts = anchors.filter((anchor) => anchor.startsWith("hookbox"));
  expect(ofAlerts.sort()).toEqual(urls.map(({ hash }) => hash.slice(1)).sort());
});

test("each section says what the alert means, how to check it and what to do", () => {
  const sections = read("docs/alerts.md").split(/^## /m).slice(1).filter((text) => text.startsWith("Hookbox"));
  for (const section of sections) {
    const parts = [...section.matchAll(/^\*\*(.+?):\*\*/gm)].map(([, part]) => part);
    expect(parts, section.split("\n")[0]!).toEqual(["Meaning", "Check", "Do"]);
  }
});

test("panels do not overlap, and are filtered by namespace and pool where their metrics have these labels", () => {
  const taken = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, at) => `${x + at % w},${y + Math.floor(at / w)}`)
  );
  expect(new Set(taken).size).toBe(taken.length);
  const variables = dashboard.templating.list.filter(({ type }) => type === "query");
  expect(variables.map(({ name, allValue }) => [name, allValue])).toEqual([["namespace", ".*"], ["pool", ".*"]]);
  for (const { title, targets = [] } of panels) {
    for (const { expr } of targets) {
      const isOfPools = /hookbox_pool_|hookbox_claims_waiting/.test(expr);
      expect(expr.includes('pool=~"$pool"'), title).toBe(isOfPools);
      const hasNamespace = isOfPools || /agent_sandboxes|sandbox_creation|router_(requests|request_|wakes|susp|auth|up)/
        .test(expr);
      expect(/namespace=~"\$namespace\|?"/.test(expr), title).toBe(hasNamespace);
    }
  }
});

const documents = (path: string) => parseAllDocuments(read(path)).map((document) => document.toJS());
const monitors: Monitor[] = [
  "servicemonitor",
  "podmonitor-router",
  "podmonitor-metacontroller",
  "podmonitor-egress",
  "podmonitor-e2b",
]
  .flatMap((name) => documents(`deploy/monitoring/${name}.yaml`));

test("a stock kube-prometheus-stack selects all of them by the name of its release", () => {
  for (const { labels } of [metadata, ...monitors.map((monitor) => monitor.metadata)]) {
    expect(labels).toEqual({ release: "kube-prometheus-stack" });
  }
});

test("monitors name ports and labels that the Services and Pods of deploy/ have", () => {
  const processes = ["hooks/sandbox", "hooks/sandboxclaim", "hooks/sandboxtemplate", "hooks/sandboxwarmpool"];
  const objects = [...processes, "keeper/keeper", "binder/binder", "router/router"].flatMap((name) =>
    documents(`deploy/${name}.yaml`)
  );
  const [services, ofRouter, ofMetacontroller, ofEgress, ofE2B] = monitors.map(({ spec }) => spec);
  for (const { kind, metadata, spec } of objects) {
    if (kind !== "Service" || metadata.name === "sandbox-router-svc") continue;
    expect(metadata.labels).toMatchObject(services!.selector.matchLabels!);
    const ports = spec.ports.map(({ name }: { name: string }) => name);
    const isHook = metadata.labels["app.kubernetes.io/component"] === "hook";
    expect(ports, metadata.name).toContain(isHook ? "metrics" : "http");
  }
  expect(services!.endpoints!.map(({ port }) => port)).toEqual(["metrics", "http"]);
  const { template } = objects.find(({ metadata }) => metadata.name === "sandbox-router")!.spec;
  expect(template.metadata.labels).toMatchObject(ofRouter!.selector.matchLabels!);
  const ports = template.spec.containers[0].ports.map(({ name }: { name: string }) => name);
  expect(ports).toContain(ofRouter!.podMetricsEndpoints![0]!.port);
  expect(ofRouter!.namespaceSelector.matchNames).toEqual(["agent-sandbox-system"]);
  expect(ofMetacontroller!.namespaceSelector.matchNames).toEqual(["metacontroller"]);
  const egress = documents("deploy/egress/proxy.yaml").find(({ kind }) => kind === "Deployment").spec.template;
  expect(egress.metadata.labels).toMatchObject(ofEgress!.selector.matchLabels!);
  const [policy] = egress.spec.containers;
  const { name, containerPort } = policy.ports.find(({ name }: { name: string }) => name === "metrics");
  expect(ofEgress!.podMetricsEndpoints).toEqual([{ port: name }]);
  expect(policy.args).toContain(`--metrics-port=${containerPort}`);
  const e2b = documents("deploy/e2b/e2b.yaml").find(({ kind }) => kind === "Deployment").spec.template;
  expect(e2b.metadata.labels).toMatchObject(ofE2B!.selector.matchLabels!);
  const [{ args, ports: [, health] }] = e2b.spec.containers;
  expect(ofE2B!.podMetricsEndpoints).toEqual([{ port: health.name }]);
  expect(args).toContain(`--health-port=${health.containerPort}`);
  expect(ofE2B!.namespaceSelector.matchNames).toEqual(["agent-sandbox-system"]);
});
