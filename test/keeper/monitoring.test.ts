/** Alerts and dashboard ask for metrics that there are, with labels that they have. */
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parse } from "yaml";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(`${ROOT}/${path}`, "utf8");
const SOURCES = globSync(["packages/{process,webhook,binder}/*.ts", "packages/keeper/**/*.ts"], { cwd: ROOT }).map(
  read,
);

interface Rule {
  alert: string;
  expr: string;
}
interface Panel {
  title: string;
  targets: { expr: string }[];
}

const { spec } = parse(read("deploy/monitoring/prometheusrule.yaml")) as { spec: { groups: { rules: Rule[] }[] } };
const { panels } = JSON.parse(read("deploy/monitoring/dashboard.json")) as { panels: Panel[] };
const expressions = [
  ...spec.groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => ({ of: alert, expr }))),
  ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ of: title, expr }))),
];

test.for(expressions)("$of: $expr", ({ expr }) => {
  const metrics = [...expr.matchAll(/\bhookbox_[a-z_]+/g)].map(([name]) => name.replace(/_bucket$/, ""));
  expect(metrics.length).toBeGreaterThan(0);
  for (const metric of metrics) {
    const source = SOURCES.find((text) => text.includes(`"${metric}"`)) ?? "";
    expect(source, metric).not.toBe("");
    const labels = [...expr.matchAll(/\bby \(([a-z_, ]+)\)|\{([a-z_]+)=/g)].flatMap(([, by = "", one = ""]) =>
      [...by.split(", "), one].filter((label) => label !== "" && label !== "le")
    );
    for (const label of labels) expect(source, `${metric} has the label ${label}`).toContain(`"${label}"`);
  }
});

test("the runbook names each alert", () => {
  const page = read("docs/reliability.md");
  for (const { of } of expressions.filter(({ of }) => of.startsWith("Hookbox"))) expect(page).toContain(of);
});
