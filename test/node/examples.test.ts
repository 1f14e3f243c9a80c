/** The examples are applied as they are, each in order of what it needs, and become Ready. @module */
import { execFile } from "node:child_process";
import { copyFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { clientPython } from "../clients/python.ts";
import { until } from "../integration/kubectl.ts";
import { makeNamespace } from "../integration/namespace.ts";
import { BIN, packedProject } from "../integration/packed.ts";
import { startRouter } from "./router.ts";
import { needsRuntime } from "./runtimepods.ts";
import { untilFull, untilReady } from "../integration/pools.ts";
import { hasRealNode, suite } from "../integration/suite.ts";
import { makeTempFolder } from "../tempfolder.ts";

const FOLDER = new URL("../../examples/", import.meta.url);
const read = (file: string) =>
  parseAllDocuments(readFileSync(new URL(file, FOLDER), "utf8")).map((document) => document.toJS());

test("every example is one of those that are tried here", () => {
  expect(readdirSync(FOLDER).sort()).toEqual([
    "agent.yaml",
    "batch.py",
    "batch.ts",
    // These two in browserimage.test.ts: their image takes minutes to build.
    "browser.ts",
    "browser.yaml",
    "claim.yaml",
    // In test/wiring/cloudevents.test.ts: it needs no cluster.
    "cloudevents.ts",
    "code-interpreter.ts",
    // And these in jupyterimage.test.ts.
    "jupyter.ts",
    "jupyter.yaml",
    "mcp-agent.ts",
    "pool.yaml",
    "python.yaml",
    "sandbox.yaml",
    "template.yaml",
  ]);
});

test("template, pool and claim, in whatever order they are applied: the pool fills and the claim gets a sandbox", async () => {
  const ns = await makeNamespace();
  await ns.apply(...read("claim.yaml"), ...read("pool.yaml"), ...read("template.yaml"));
  const claim = await untilReady(ns, "session");
  await untilFull(ns, "agents");
  const hasLabel = (pod: { metadata: { labels: Record<string, string> } }) =>
    pod.metadata.labels["sandbox.users.io/user"] === "ada";
  await ns.until("pod", claim.status.sandbox.name, hasLabel);
  const policy = await ns.get("networkpolicy", "agent-network-policy");
  expect(policy.spec.podSelector.matchLabels).toEqual({
    "agents.x-k8s.io/sandbox-template-ref-hash": (await ns.get("sandboxtemplate", "agent"))
      .metadata.labels["agents.x-k8s.io/sandbox-template-ref-hash"],
  });
});

test("the sandbox becomes Ready", async () => {
  const ns = await makeNamespace();
  await ns.apply(...read("sandbox.yaml"));
  expect(await ns.untilReason("demo", "DependenciesReady")).toMatchObject({ status: { service: "demo" } });
});

test(
  "the sandbox with the runtime becomes Ready, which means that it takes commands",
  async () => {
    if (hasRealNode) await needsRuntime();
    const ns = await makeNamespace();
    await ns.apply(...read("agent.yaml"));
    await ns.untilReason("agent", "DependenciesReady");
    expect(await ns.get("pvc", "work-agent")).toMatchObject({ metadata: { name: "work-agent" } });
  },
);

test("the pool with the runtime fills", async () => {
  if (hasRealNode) await needsRuntime();
  const ns = await makeNamespace();
  await ns.apply(...read("python.yaml"));
  await untilFull(ns, "python");
});

const PROGRAMS = [
  {
    program: "code-interpreter.ts",
    args: [],
    says: "[1]  3\n[2]  KeyError: 'peple'\n[3] mean 118000 354000\n",
  },
  // As many as a node of two cores starts in a minute; the example's own number is a hundred.
  { program: "batch.ts", args: ["8", "4"], says: /^8 of 8 episodes, mean reward \d\d\.\d\n/ },
  { program: "mcp-agent.ts", args: [], says: /^There are 25 primes below 100\.\n/ },
];

test.runIf(hasRealNode).for(PROGRAMS)(
  "$program does what it says",
  async ({ program, args, says }) => {
    await needsRuntime();
    const ns = await makeNamespace();
    await ns.apply(...read("python.yaml"));
    await untilFull(ns, "python");
    const project = await packedProject();
    copyFileSync(fileURLToPath(new URL(program, FOLDER)), join(project.folder, program));
    const bin = join(project.folder, "node_modules/.bin");
    const env = { KUBECONFIG: suite.kubeconfig, HOOKBOX_NAMESPACE: ns.name, PATH: `${bin}:${process.env["PATH"]}` };
    const output = await project.run(join(BIN, "node"), [program, ...args], env);
    if (typeof says === "string") expect(output).toBe(says);
    else expect(output).toMatch(says);
    await until(() => ns.list("sandboxclaims"), (claims) => claims.length === 0);
  },
);

test.runIf(hasRealNode)("batch.py does what it says with the published client, through the router", async () => {
  await needsRuntime();
  const python = await clientPython((line) => void process.stdout.write(`examples: ${line}\n`));
  const ns = await makeNamespace();
  await ns.apply(...read("python.yaml"));
  await untilFull(ns, "python");
  const router = await startRouter();
  const times = join(makeTempFolder(), "times.json");
  const { stdout } = await promisify(execFile)(python, [fileURLToPath(new URL("batch.py", FOLDER)), "8", "4"], {
    env: {
      ...{ ...process.env, KUBECONFIG: suite.kubeconfig, HOOKBOX_NAMESPACE: ns.name },
      ...{ HOOKBOX_ROUTER_URL: router.url, HOOKBOX_TIMES: times },
    },
  });
  expect(stdout).toMatch(/^8 of 8 episodes, mean reward \d\d\.\d\n$/);
  const episodes = JSON.parse(readFileSync(times, "utf8"));
  expect(episodes).toHaveLength(8);
  for (const { ready, commands, episode, reward } of episodes) {
    expect(commands).toHaveLength(3);
    expect(episode).toBeGreaterThan(ready);
    expect(reward).toBeGreaterThan(20);
  }
  await until(() => ns.list("sandboxclaims"), (claims) => claims.length === 0);
});
