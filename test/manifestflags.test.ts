/** What deploy/ starts takes the flags that it is started with. @module */
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { CONVERSION } from "../hooks/conversion/options.ts";
import { HOOK_FLAGS } from "../hooks/flags.ts";
import { PROGRAMS } from "../packages/cli/commands/processes.ts";
import { type Flags, readCommandLine } from "../packages/process/flags.ts";

const DEPLOY = fileURLToPath(new URL("../deploy/", import.meta.url));
const [keeper, binder, router, egress, e2b, runtime] = await Promise.all(
  [PROGRAMS.keeper, PROGRAMS.binder, PROGRAMS.router, PROGRAMS.egress, PROGRAMS.e2b, PROGRAMS.runtime].map(async (
    load,
  ) => (await load()).flags),
);

/** Returns the table of what a file of the image is, such as `hooks/sandbox.js`. */
function tableOf(entry: string): Flags | undefined {
  if (entry === "hooks/conversion.js") return CONVERSION.flags;
  if (entry.startsWith("hooks/")) return HOOK_FLAGS;
  return {
    "keeper/main.js": keeper,
    "binder/main.js": binder,
    "router/main.js": router,
    "egress/main.js": egress,
    "e2b/main.js": e2b,
  }[entry];
}

interface Container {
  command?: string[];
  args?: string[];
  env?: { name: string; valueFrom?: { configMapKeyRef?: { name: string; key: string; optional?: boolean } } }[];
}

const started = globSync("**/*.yaml", { cwd: DEPLOY, exclude: ["chart/**"] }).sort().flatMap((file) =>
  parseAllDocuments(readFileSync(DEPLOY + file, "utf8")).flatMap((document) => {
    const containers: Container[] = document.toJS()?.spec?.template?.spec?.containers ?? [];
    return containers.map(({ command = [], args = [], env = [] }) => ({ file, words: [...command, ...args], env }));
  })
);

test("the processes of deploy/ take the flags that they are started with", () => {
  const read = started.flatMap(({ file, words }) => {
    const at = words.findIndex((word) => tableOf(word));
    const flags = tableOf(words[at] ?? "");
    if (!flags) return [];
    expect(() => readCommandLine({ flags }, words.slice(at + 1)), `${file}: ${words.join(" ")}`).not.toThrow();
    return [file];
  });
  expect(read).toEqual([
    "binder/binder.yaml",
    "e2b/e2b.yaml",
    "egress/proxy.yaml",
    ...["sandbox", "sandboxclaim", "sandboxtemplate", "sandboxwarmpool"].map((hook) => `hooks/${hook}.yaml`),
    "keeper/keeper.yaml",
    "router/router.yaml",
    "v1alpha1/conversion.yaml",
  ]);
});

test("options that several processes need alike come from one ConfigMap, in each process that acts on them", () => {
  const keysOf = ({ env }: (typeof started)[number]) =>
    env.flatMap(({ name, valueFrom: { configMapKeyRef: from } = {} }) => {
      if (!from) return [];
      expect(from).toEqual({ name: "agent-sandbox-config", key: from.key, optional: true });
      expect(HOOK_FLAGS[from.key as "allowed-label-domains"].env).toBe(name);
      return [from.key];
    });
  const taken = started.map((process) => [process.file, keysOf(process)] as const).filter(([, keys]) =>
    keys.length > 0
  );
  const domains = ["allowed-label-domains", "allowed-annotation-domains"];
  expect(Object.fromEntries(taken)).toEqual({
    "binder/binder.yaml": [...domains, "template-network-policy"],
    "hooks/sandboxclaim.yaml": domains,
    "hooks/sandboxwarmpool.yaml": ["template-network-policy"],
    "keeper/keeper.yaml": [...domains, "template-network-policy"],
  });
  // Deno shows a process only the variables that it may read.
  for (const { words, env } of started) {
    const allowed = words.find((word) => word.startsWith("--allow-env"))?.slice("--allow-env=".length).split(",");
    if (allowed && allowed[0] !== "") expect(env.map(({ name }) => name)).toEqual(allowed);
    else if (env.length > 0 && words.includes("/opt/hookbox/deno")) expect(words).toContain("--allow-env");
  }
});

/** Flags that the chart adds, each with a value as it may come to have one, and the processes that it adds them to. */
const CHART: [flag: string, value: string, tables: (Flags | undefined)[]][] = [
  ["--otlp-endpoint=%s", "http://collector:4318", [HOOK_FLAGS, keeper, binder, router]],
  ["--denied-egress-cidrs=%s", "100.64.0.0/10,64:ff9b::/96", [HOOK_FLAGS]],
  ["--domain=%s", "sandboxes.example.com", [e2b]],
  ["--cloudevents-url=%s", "https://events.example/hook", [keeper]],
  ["--cloudevents-secret-file=%s/secret", "/var/run/secrets/hookbox-cloudevents", [keeper]],
  ["--cloudevents-source=%s", "//cluster-1", [keeper]],
];

test("the processes of the chart take the flags that its values make", () => {
  const helpers = readFileSync(`${DEPLOY}chart/templates/_helpers.tpl`, "utf8");
  const used = [...helpers.matchAll(/"(--[a-z][^"]+)"/g)].map(([, flag = ""]) => flag).filter((flag) =>
    !flag.startsWith("--allow-net")
  );
  expect(used.sort()).toEqual(CHART.map(([flag]) => flag).sort());
  const cloudEvents = CHART.map(([flag]) => flag).filter((flag) => flag.startsWith("--cloudevents"));
  for (const [flag, value, tables] of CHART) {
    const others = cloudEvents.includes(flag) ? ["--cloudevents-url=http://a", "--cloudevents-secret-file=f"] : [];
    for (const flags of tables) {
      readCommandLine({ flags: flags ?? {} }, [...others, flag.replace("%s", value)]);
    }
  }
});

test("the chart writes keys of the ConfigMap that processes read, with values that they take", () => {
  const helpers = readFileSync(`${DEPLOY}chart/templates/_helpers.tpl`, "utf8");
  const config = helpers.slice(helpers.indexOf('define "hookbox.config"'));
  const keys = started.flatMap(({ env }) => env.flatMap(({ valueFrom }) => valueFrom?.configMapKeyRef?.key ?? []));
  for (const key of new Set(keys)) expect(config).toContain(`"${key.replace(/label|annotation/, "%s")}"`);
  expect(config).toContain('"template-network-policy" "optional"');
  readCommandLine({ flags: HOOK_FLAGS }, ["--template-network-policy=optional", "--allowed-annotation-domains="]);
});

test("the image of the runtime starts it with flags that it has, in the working directory of the image", () => {
  const file = readFileSync(`${DEPLOY}runtime/Containerfile`, "utf8");
  const started = [...file.matchAll(/^(?:ENTRYPOINT|CMD) (\[.*\])$/gm)].flatMap(([, words = ""]) =>
    JSON.parse(words) as string[]
  );
  const flags = started.slice(started.indexOf("/opt/hookbox/main.js") + 1);
  expect(readCommandLine({ flags: runtime ?? {} }, flags)?.values).toMatchObject({
    root: undefined,
    workdir: undefined,
  });
  expect(file).toContain("\nWORKDIR /workspace\n");
});
