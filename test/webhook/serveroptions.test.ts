/** The command line of hooks: what it says, and what it refuses. @module */
import { expect, test } from "vitest";
import { OPTIONS as options } from "../../hooks/sandbox/options.ts";
import { readOptions } from "../../packages/webhook/options.ts";
import { helpOf, HOOK_FLAGS } from "../../packages/webhook/serveroptions.ts";
import { HOOK_OPTIONS, makeHooks, readSettings } from "../../hooks/all.ts";

test("every option is in the help, and has a default", () => {
  const { settings, help, positionals } = readSettings([]);
  expect([help, positionals]).toEqual([false, []]);
  expect(settings).toEqual({
    host: "0.0.0.0",
    port: 8080,
    clusterDomain: "cluster.local",
    logLevel: "info",
    allowedLabelDomains: ["sandbox.users.io"],
    allowedAnnotationDomains: undefined,
    readinessGraceSeconds: 300,
    maxBatchSize: 300,
    maxLossesPerMinute: 600,
    metricsPort: undefined,
    maxRefillRate: 0,
    replenishDelaySeconds: 0,
    poolIntervalMs: 1000,
    templateNetworkPolicy: "required",
    deniedEgressCidrs: [],
    record: "",
    recordMaxBytes: 268_435_456,
  });
  const named = [...HOOK_OPTIONS.matchAll(/^ {2}--([a-z-]+)/gm)].map(([, name]) => name);
  expect(named).toHaveLength(Object.keys(settings).length + 1);
  for (const name of named) expect(() => readSettings([`--${name}`])).not.toThrow("Unknown option");
  const texts = HOOK_OPTIONS.split(/^ {2}(?=--)/m);
  expect(texts.filter((text) => text.split("(default").length > 2), "a default is named once").toEqual([]);
});

test("--pool-interval-ms is the distance of the pools' hook, and of no other", () => {
  const hooks = makeHooks([], readSettings(["--pool-interval-ms", "250"]).settings);
  const request = { parent: { metadata: { uid: "p" } } };
  const spaced = hooks.map(({ name, spacing }) => [name, spacing?.(request)]).filter(([, spacing]) => spacing);
  expect(spaced).toEqual([["sandboxwarmpool", { key: "p", intervalMs: 250 }]]);
});

test.for(
  [
    ["--pool-interval-ms -1", 'Cannot use --pool-interval-ms "-1"'],
    ["--pool-interval-ms x", 'Cannot use --pool-interval-ms "x"'],
    ["--max-batch-size 0", 'Cannot use --max-batch-size "0"'],
    ["--port 70000", 'Cannot listen on port "70000"'],
    ["--log-level loud", 'Cannot log at level "loud"'],
  ] as const,
)("refuses %s", ([args, message]) => {
  const [option = "", value = ""] = args.split(" ");
  expect(() => readSettings([`${option}=${value}`])).toThrow(message);
});

test("a hook takes its own options, ignores those of others, and refuses what no hook has", () => {
  expect(readOptions(["--cluster-domain", "c.example"], options).settings).toEqual({ clusterDomain: "c.example" });
  const { settings } = readOptions(["--max-batch-size", "3"], options, HOOK_FLAGS);
  expect(settings).toEqual({ clusterDomain: "cluster.local" });
  expect(() => readOptions(["--max-batch", "3"], options, HOOK_FLAGS)).toThrow('Unknown option "--max-batch"');
  const own = [...HOOK_OPTIONS.slice(HOOK_OPTIONS.indexOf("Of the hook")).matchAll(/^ {2}--([a-z-]+)/gm)];
  expect([...HOOK_FLAGS].sort(), "all there are").toEqual(own.map(([, flag]) => flag).sort());
  expect(helpOf([{ name: "sandbox", options }])).toContain("Of the hook sandbox:\n  --cluster-domain D ");
});

test("the domains of annotations that claims may add are those of the command line: by default any, empty is none", () => {
  const domainsOf = (...flags: string[]) => readSettings(flags).settings.allowedAnnotationDomains;
  expect(domainsOf()).toBe(undefined);
  expect(domainsOf("--allowed-annotation-domains", "a.example, b.example,")).toEqual(["a.example", "b.example"]);
  expect(domainsOf("--allowed-annotation-domains=")).toEqual([]);
});
