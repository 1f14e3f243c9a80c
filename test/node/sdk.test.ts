/** The SDK on a real cluster, through the API server and through a router. @module */
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { SandboxClient, SandboxFailedError, SandboxNotFoundError, TemplateError } from "../../packages/sdk/mod.ts";
import { makeNamespace, type Namespace, sleeper } from "../integration/namespace.ts";
import { until } from "../integration/kubectl.ts";
import { untilFull } from "../integration/pools.ts";
import { startRouter } from "./router.ts";
import { needsRuntime } from "./runtimepods.ts";
import { hasRealNode, suite } from "../integration/suite.ts";

const PYTHON = parseAllDocuments(readFileSync(new URL("../../examples/python.yaml", import.meta.url), "utf8"));
const SERVER =
  `require("http").createServer((_, answer) => answer.end("served")).listen(3000, () => console.log("listening"))`;

async function pooled(): Promise<Namespace> {
  const ns = await makeNamespace();
  await ns.apply(...PYTHON.map((document) => document.toJS()));
  await untilFull(ns, "python");
  return ns;
}

function clientOf(ns: Namespace, more: object = {}): SandboxClient {
  return new SandboxClient({ kubeconfig: suite.kubeconfig, namespace: ns.name, ...more });
}

describe.runIf(hasRealNode)("with the runtime inside", () => {
  beforeAll(needsRuntime);

  test.for(["forward", "router"] as const)("a sandbox's whole life, by %s", async (way) => {
    const ns = await pooled();
    const router = way === "router" ? await startRouter("--path-routing-prefix", "/s") : undefined;
    const client = clientOf(ns, router ? { routerUrl: router.url, routerPathPrefix: "/s" } : {});
    const sandbox = await client.create({
      pool: "python",
      timeoutMs: 600_000,
      ...router ? { idleMs: 3_600_000 } : {},
      metadata: { job: "7" },
    });
    expect(sandbox.sandboxName).toMatch(/^python-/);
    expect(await sandbox.getInfo()).toMatchObject({ state: "Ready", pool: "python", metadata: { job: "7" } });

    const pieces: string[] = [];
    const result = await sandbox.commands.run("echo one; echo two >&2; exit 4", {
      onStdout: (text) => void pieces.push(text),
    });
    expect([result.exitCode, result.stderr, pieces.join("")]).toEqual([4, "two\n", "one\n"]);
    await sandbox.files.write("notes/ä.txt", "kept");
    expect((await sandbox.files.list("notes")).map(({ name }) => name)).toEqual(["ä.txt"]);
    expect((await sandbox.runCode("x = 6\nx * 7")).text).toBe("42");

    const server = await sandbox.commands.run(["node", "-e", SERVER], { background: true });
    for await (const { text } of server) if (text.includes("listening")) break;
    expect(await (await fetch(await sandbox.getUrl(3000))).text()).toBe("served");

    await sandbox.suspend();
    expect((await sandbox.getInfo()).state).toBe("Suspended");
    expect(await ns.get("pod", sandbox.sandboxName)).toBeUndefined();
    const again = await client.connect(sandbox.name);
    expect(await again.files.read("notes/ä.txt")).toBe("kept");
    await sandbox.suspend();
    expect(await sandbox.files.read("notes/ä.txt"), "who asks wakes it").toBe("kept");
    expect((await ns.get("sandbox", sandbox.sandboxName)).metadata.annotations?.["router.agents.x-k8s.io/idle-seconds"])
      .toBe(router ? "3600" : undefined);

    const names: string[] = [];
    for await (const { name } of client.list()) names.push(name);
    expect(names).toEqual([sandbox.name]);
    expect(await again.kill()).toBe(true);
    expect(await again.kill()).toBe(false);
    await ns.until("sandbox", sandbox.sandboxName, (object) => object === undefined);
    await expect(client.connect(sandbox.name)).rejects.toBeInstanceOf(SandboxNotFoundError);
  });

  test("env means a sandbox made for it, which has it", async () => {
    const ns = await pooled();
    await using sandbox = await clientOf(ns).create({ template: "python", env: { COLOUR: "green" } });
    expect((await sandbox.commands.run("echo $COLOUR")).stdout).toBe("green\n");
  });

  test("getOrCreate makes one, and finds it again", async () => {
    const ns = await pooled();
    const client = clientOf(ns);
    const [one, other] = await Promise.all([
      client.getOrCreate("mine", { pool: "python" }),
      client.getOrCreate("mine", { pool: "python" }),
    ]);
    expect(other.sandboxName).toBe(one.sandboxName);
    expect((await ns.list("sandboxclaims")).length).toBe(1);
    expect(await client.kill("mine")).toBe(true);
  });
});

test("what cannot succeed fails at once, with the true cause, and nothing is left", async () => {
  const ns = await makeNamespace();
  const client = clientOf(ns);
  await expect(client.create({ pool: "missing" })).rejects.toBeInstanceOf(TemplateError);
  await expect(client.create({ template: "missing" })).rejects.toMatchObject({ reason: "TemplateNotFound" });
  expect(await ns.list("sandboxwarmpools")).toEqual([]);
  const broken = client.create({ image: "Not An Image" });
  await expect(broken).rejects.toBeInstanceOf(SandboxFailedError);
  await expect(broken).rejects.toMatchObject({ reason: "InvalidImageName", object: { kind: "Pod" } });
  expect(
    [...await ns.list("sandboxclaims"), ...await ns.list("sandboxes")].filter((one) => !one.metadata.deletionTimestamp),
  ).toEqual([]);
});

test.runIf(hasRealNode)("a sandbox without the runtime runs commands as kubectl exec does", async () => {
  const ns = await makeNamespace();
  await ns.apply(sleeper("plain"));
  const sandbox = await clientOf(ns).connect("plain");
  const result = await sandbox.commands.run("echo $COLOUR; pwd; cat; exit 3", {
    env: { COLOUR: "blue" },
    cwd: "/tmp",
    stdin: "typed",
  });
  expect(result).toMatchObject({ exitCode: 3, stdout: "blue\n/tmp\ntyped", stderr: "" });
  let length = 0;
  await sandbox.commands.run("head -c 5000000 /dev/zero", { onStdout: (text) => void (length += text.length) });
  expect(length).toBe(5_000_000);
  let shown = "";
  const onData = (bytes: Uint8Array) => void (shown += new TextDecoder().decode(bytes));
  const terminal = await sandbox.pty.create({ cols: 90, rows: 20, command: ["sh"], onData });
  await terminal.write("stty size; exit 4\n");
  expect(await terminal.wait()).toEqual({ exitCode: 4 });
  expect(shown).toContain("20 90");
});

test("a Sandbox that kubectl made is listed, suspended, resumed, given an end and killed", async () => {
  const ns = await makeNamespace();
  await ns.apply(sleeper("bare"));
  await ns.untilReason("bare", "DependenciesReady");
  const client = clientOf(ns);
  expect((await client.list().page()).items).toEqual([]);
  const { items } = await client.list().page({ cursor: "1" });
  expect(items).toMatchObject([{ name: "bare", kind: "Sandbox", state: "Ready", expiresAt: undefined }]);
  await client.suspend("bare");
  await client.resume("bare");
  const end = await client.setTimeout("bare", 60_000);
  expect((await client.extendTimeout("bare", 60_000)).getTime()).toBe((end?.getTime() ?? 0) + 60_000);
  expect(await client.setTimeout("bare", null)).toBeUndefined();
  await ns.untilReason("bare", "DependenciesReady");
  await until(() => client.why("bare"), ({ code }) => code === "Ready");
  expect(await client.kill("bare")).toBe(true);
});
