/**
 * Alerts and dashboard in a real Prometheus that scrapes the real processes: after one claim, one wake and one refusal of each
 * kind, every panel has data, and every alert has what it looks at. @module
 */
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { findPrograms } from "../../dev/cluster/binaries.ts";
import { freePorts } from "../../dev/cluster/ports.ts";
import { PROMETHEUS } from "../../dev/cluster/programs.ts";
import { eventually } from "../eventually.ts";
import { startMonitored, type Target } from "../monitored.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { DEPLOY } from "./chart.ts";

interface Sample {
  metric: Record<string, string>;
  value: [number, string];
}
interface Node {
  type: string;
  name?: string;
  matchers?: { name: string; type: string; value: string }[];
}

const { spec } = parse(readFileSync(`${DEPLOY}/monitoring/prometheusrule.yaml`, "utf8"));
const rules: { alert: string; expr: string }[] = spec.groups.flatMap(({ rules }: { rules: object[] }) => rules);
const { panels, templating } = JSON.parse(readFileSync(`${DEPLOY}/monitoring/dashboard.json`, "utf8"));
const targets: { title: string; expr: string }[] = panels.flatMap((
  { title, targets = [] }: { title: string; targets?: { expr: string }[] },
) => targets.map(({ expr }) => ({ title, expr })));

let program: string;
// Prometheus is built on a new machine, while other files' tests run.
beforeAll(async () => {
  const progress = (line: string) => void process.stdout.write(`monitoring: ${line}\n`);
  program = (await findPrograms(PROMETHEUS, { progress }))["prometheus"] ?? "prometheus";
}, 1_800_000);

/** Starts Prometheus with the rules of deploy/; it goes with the test. */
async function startPrometheus(targets: readonly Target[]) {
  const folder = makeTempFolder();
  const file = join(folder, "prometheus.yaml");
  const rules = join(folder, "rules.yaml");
  writeFileSync(rules, JSON.stringify(spec));
  const config = {
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: [rules],
    scrape_configs: targets.map(({ job, namespace, port }) => ({
      job_name: job,
      // As in the monitors.
      honor_labels: true,
      static_configs: [{ targets: [`127.0.0.1:${port}`], labels: { namespace } }],
    })),
  };
  writeFileSync(file, JSON.stringify(config));
  const [port = 0] = await freePorts(1);
  const flags = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const child = spawn(program, flags, { stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text) => log = (log + text).slice(-5000));
  onTestFinished(() => void child.kill("SIGKILL"));
  const get = async (path: string) => {
    const answer = await (await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)).json();
    if (answer.status !== "success") throw new Error(`Cannot read ${path}: ${answer.error}`);
    return answer.data;
  };
  await eventually(() => get("status/buildinfo").then(() => true, () => log)).toBe(true);
  return {
    get,
    /** Values, without those that are not numbers: a panel shows nothing for them. */
    query: async (expr: string): Promise<Sample[]> => {
      const { result } = await get(`query?query=${encodeURIComponent(expr)}`);
      return (result as Sample[]).filter(({ value: [, text] }) => Number.isFinite(Number(text)));
    },
    /** The selectors of time series in an expression, in its own language. */
    selectorsOf: async (expr: string): Promise<string[]> =>
      nodesOf(await get(`parse_query?query=${encodeURIComponent(expr)}`)).map(selectorOf),
    alerts: async (): Promise<Map<string, string>> =>
      new Map(
        (await get("alerts")).alerts.map(({ labels, state }: { labels: Record<string, string>; state: string }) => [
          labels["alertname"],
          state,
        ]),
      ),
  };
}

function nodesOf(tree: unknown): Node[] {
  if (typeof tree !== "object" || tree === null) return [];
  const { type } = tree as Node;
  const own = type === "vectorSelector" || type === "matrixSelector" ? [tree as Node] : [];
  return [...own, ...Object.values(tree).flatMap(nodesOf)];
}

function selectorOf({ matchers = [] }: Node): string {
  return `{${matchers.map(({ name, type, value }) => `${name}${type}${JSON.stringify(value)}`).join(",")}}`;
}

const chosen = (expr: string, namespace: string, pool: string) =>
  expr.replaceAll("$namespace", namespace).replaceAll("$pool", pool);

test("after a claim, a wake and a refusal every panel and alert has data, and the alerts of what went wrong fire", async () => {
  const monitored = await startMonitored();
  const prometheus = await startPrometheus(monitored.targets);
  const { query, selectorsOf, alerts, get } = prometheus;
  const empty = async (expressions: { of: string; expr: string }[]) => {
    const found = await Promise.all(
      expressions.map(async ({ of, expr }) => [`${of}: ${expr}`, await query(expr)] as const),
    );
    return found.filter(([, samples]) => samples.length === 0).map(([name]) => name);
  };
  for (const [namespace, pool] of [[".*", ".*"], ["team-a", "python"]] as const) {
    const wanted = targets.map(({ title, expr }) => ({ of: title, expr: chosen(expr, namespace, pool) }));
    await eventually(() => empty(wanted)).toEqual([]);
  }
  const elsewhere = targets.filter(({ expr }) => expr.includes('$namespace"') && !expr.includes("vector(0)"));
  expect(elsewhere.length).toBeGreaterThan(10);
  for (const { title, expr } of elsewhere) expect(await query(chosen(expr, "team-b", ".*")), title).toEqual([]);

  // An expression with "or vector(0)" always has a value: the series that it reads must be there, too.
  const read = [
    ...rules.map(({ alert, expr }) => ({ of: alert, expr })),
    ...targets.map(({ title, expr }) => ({
      of: title,
      expr: chosen(expr, ".*", ".*"),
    })),
  ];
  const selectors = await Promise.all(
    read.map(async ({ of, expr }) => (await selectorsOf(expr)).map((selector) => ({ of, expr: selector }))),
  );
  expect(selectors.every((list) => list.length > 0)).toBe(true);
  await eventually(() => empty(selectors.flat())).toEqual([]);
  for (const { definition } of templating.list.filter(({ type }: { type: string }) => type === "query")) {
    const [, metric = "", label = ""] = /^label_values\((.*), (\w+)\)$/.exec(chosen(definition, ".*", ".*")) ?? [];
    expect((await query(metric)).map(({ metric }) => metric[label]), definition).toContain(
      label === "pool" ? "python" : "team-a",
    );
  }

  const wrong = ["HookboxAnswersRefused", "HookboxCloudEventsLost", "HookboxLossesHeld", "HookboxNetworkPolicyMissing"];
  await eventually(async () => [...(await alerts()).keys()].filter((name) => wrong.includes(name)).sort()).toEqual(
    wrong,
  );
  const states = await alerts();
  expect([states.get("HookboxAnswersRefused"), states.get("HookboxCloudEventsLost")]).toEqual(["firing", "firing"]);
  expect([...states.keys()].filter((name) => /Down|Leaderless|Wait|Slow/.test(name))).toEqual([]);
  const evaluated = (await get("rules")).groups.flatMap(({ rules }: { rules: { health: string }[] }) => rules);
  expect(evaluated).toHaveLength(rules.length);
  expect(evaluated.filter(({ health }: { health: string }) => health !== "ok")).toEqual([]);

  await monitored.stopMetacontroller();
  await eventually(async () => (await alerts()).has("HookboxMetacontrollerDown")).toBe(true);
});
