/** The command line of hooks: what it says, and what it refuses. @module */
import { expect, test } from "vitest";
import { makeHooks, SERVE } from "../../hooks/all.ts";
import { HOOK_FLAGS, SANDBOX_FLAGS } from "../../hooks/flags.ts";
import { helpOf } from "../../packages/process/flaghelp.ts";
import { SERVER_FLAGS } from "../../packages/webhook/serveroptions.ts";
import { settingsOf } from "../hooksettings.ts";

test("every option is in the help, and has a default", () => {
  expect(settingsOf()).toEqual({
    host: "0.0.0.0",
    port: 8080,
    clusterDomain: "cluster.local",
    logLevel: "info",
    otlpEndpoint: undefined,
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
  const help = helpOf(SERVE);
  const named = [...help.matchAll(/^ {2}--([a-z-]+)/gm)].map(([, name]) => name);
  expect(named.sort()).toEqual([...Object.keys(HOOK_FLAGS), "help"].sort());
  expect(help).toContain("\n\nOf the hook sandbox:\n  --cluster-domain D ");
  const texts = help.split(/^ {2}(?=--)/m);
  expect(texts.filter((text) => text.split("(default").length > 2), "a default is named once").toEqual([]);
});

test("--pool-interval-ms is the distance of the pools' hook, and of no other", () => {
  const hooks = makeHooks([], settingsOf("--pool-interval-ms", "250"));
  const request = { parent: { metadata: { uid: "p" } } };
  const spaced = hooks.map(({ name, spacing }) => [name, spacing?.(request)]).filter(([, spacing]) => spacing);
  expect(spaced).toEqual([["sandboxwarmpool", { key: "p", intervalMs: 250 }]]);
});

test.for(
  [
    ["--pool-interval-ms -1", 'Cannot use --pool-interval-ms "-1": use a number of at least 0'],
    ["--pool-interval-ms x", 'Cannot use --pool-interval-ms "x"'],
    ["--max-batch-size 0", 'Cannot use --max-batch-size "0": use a whole number of at least 1'],
    ["--port 70000", 'Cannot use --port "70000": use a whole number from 0 to 65535'],
    ["--log-level loud", 'Cannot use --log-level "loud": use debug, info, warn or error'],
    ["--template-network-policy maybe", 'Cannot use --template-network-policy "maybe": use required or optional'],
    ["--denied-egress-cidrs 10.0.0.0", 'Cannot use --denied-egress-cidrs "10.0.0.0": use networks such as'],
    ["--denied-egress-cidrs ::/0", 'Cannot use --denied-egress-cidrs "::/0": use networks such as'],
    ["--max-batch 3", 'Unknown option "--max-batch": see --help'],
  ] as const,
)("refuses %s", ([args, message]) => {
  expect(() => settingsOf(...args.split(" "))).toThrow(message);
});

test("the help of one hook names its own options, and those of its server", () => {
  const help = helpOf({ name: "hooks/sandbox/main.ts", about: "", flags: { ...SERVER_FLAGS, ...SANDBOX_FLAGS } });
  expect(help).toContain("--cluster-domain");
  expect(help).not.toContain("--max-batch-size");
});

test("the domains of annotations that claims may add are those of the command line: by default any, empty is none", () => {
  const domainsOf = (...flags: string[]) => settingsOf(...flags).allowedAnnotationDomains;
  expect(domainsOf()).toBe(undefined);
  expect(domainsOf("--allowed-annotation-domains", "a.example, b.example,")).toEqual(["a.example", "b.example"]);
  expect(domainsOf("--allowed-annotation-domains=")).toEqual([]);
});
