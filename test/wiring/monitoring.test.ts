/**
 * After a claim, a wake and a refusal of each kind, the real processes serve every time series that an alert or a panel reads.
 * test/integration/monitoring.test.ts evaluates the whole expressions in a real Prometheus. @module
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { eventually } from "../eventually.ts";
import { startMonitored, type Target } from "../monitored.ts";

interface Series {
  name: string;
  labels: Record<string, string>;
}
interface Selector {
  name: string;
  matchers: { label: string; operator: string; value: string }[];
}

const read = (path: string) => readFileSync(new URL(`../../deploy/monitoring/${path}`, import.meta.url), "utf8");
const { spec } = parse(read("prometheusrule.yaml"));
const { panels } = JSON.parse(read("dashboard.json"));
const expressions: { of: string; expr: string }[] = [
  ...spec.groups.flatMap(({ rules }: { rules: { alert: string; expr: string }[] }) =>
    rules.map(({ alert, expr }) => ({ of: alert, expr }))
  ),
  ...panels.flatMap(({ title, targets = [] }: { title: string; targets?: { expr: string }[] }) =>
    targets.map(({ expr }) => ({ of: title, expr }))
  ),
];

/** Words of the language, other than the names of metrics. */
const WORDS = /^(absent|by|clamp|histogram_quantile|increase|max|offset|on|or|rate|sum|unless|vector|[0-9.]+[a-z]?)$/;

/** Lists what an expression selects. Label lists of `by` and `on` are none of it. */
function selectorsOf(expr: string): Selector[] {
  const plain = expr.replaceAll(/\b(by|on) \([^)]*\)/g, "").replaceAll(/\[[^\]]*\]|offset \w+/g, "");
  const found = [...plain.matchAll(/\b([a-zA-Z_][\w:]*)(?:\{([^}]*)\})?/g)];
  return found.filter(([, name = ""]) => !WORDS.test(name)).map(([, name = "", inner = ""]) => ({
    name,
    matchers: [...inner.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g)].map(([, label = "", operator = "", value = ""]) => ({
      ...{ label, operator, value },
    })),
  }));
}

function isSelected({ name, labels }: Series, selector: Selector): boolean {
  return name === selector.name && selector.matchers.every(({ label, operator, value }) => {
    const is = labels[label] ?? "";
    const fits = operator.endsWith("~") ? new RegExp(`^(?:${value})$`).test(is) : is === value;
    return fits !== operator.startsWith("!");
  });
}

/** Scrapes as the monitors say: labels of the process have priority over those of its target. */
async function scrape({ job, namespace, port }: Target): Promise<Series[]> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const own = { job, namespace };
  const samples = [...text.matchAll(/^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$/gm)].map(([, name = "", inner = ""]) => ({
    name,
    labels: { ...own, ...Object.fromEntries([...inner.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, to]) => [key, to])) },
  }));
  return [{ name: "up", labels: own }, ...samples];
}

test("every alert and panel has what it reads, in all namespaces and in those that are chosen", async () => {
  const { targets } = await startMonitored();
  const missing = async (namespace: string, pool: string, wanted = expressions) => {
    const series = (await Promise.all(targets.map(scrape))).flat();
    return wanted.flatMap(({ of, expr }) =>
      selectorsOf(expr.replaceAll("$namespace", namespace).replaceAll("$pool", pool))
        .filter((selector) => !series.some((one) => isSelected(one, selector)))
        .map(({ name, matchers }) => `${of}: ${name} ${JSON.stringify(matchers)}`)
    );
  };
  for (const { of, expr } of expressions) expect(selectorsOf(expr), of).not.toEqual([]);
  await eventually(() => missing(".*", ".*")).toEqual([]);
  expect(await missing("team-a", "python")).toEqual([]);
  const filtered = expressions.filter(({ expr }) => expr.includes("$namespace"));
  const elsewhere = await missing("team-b", ".*", filtered);
  expect(new Set(elsewhere.map((text) => text.split(":")[0])).size).toBeGreaterThan(6);
});
