/** What only a real cluster shows of the command: port-forwards, logs, interruption, and what apply would change. @module */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { makeTempFolder } from "../tempfolder.ts";
import { until } from "../integration/kubectl.ts";
import { makeNamespace } from "../integration/namespace.ts";
import { untilFull } from "../integration/pools.ts";
import { needsRuntime } from "./runtimepods.ts";
import { hookbox, kubeconfigOf, startHookbox } from "./transcript/hookbox.ts";
import { hasRealNode, suite } from "../integration/suite.ts";

const EXAMPLE = new URL("../../examples/python.yaml", import.meta.url);

async function aPoolOfRuntimes() {
  const ns = await makeNamespace();
  const kubeconfig = await kubeconfigOf(ns, makeTempFolder());
  await ns.apply(...parseAllDocuments(readFileSync(EXAMPLE, "utf8")).map((document) => document.toJS()));
  await untilFull(ns, "python");
  return { ns, kubeconfig };
}

test("install: the API server finds the CRDs and controllers of this checkout unchanged, no matter who has applied them", async () => {
  const ns = await makeNamespace();
  const kubeconfig = await kubeconfigOf(ns, makeTempFolder());
  // kubectl has applied them here, and holds on to what it has set.
  const tried = await hookbox(kubeconfig, "install", "--dry-run", "--force", "--hooks-url", suite.hooksURL);
  expect(tried).toMatchObject({ code: 0, stderr: "" });
  const lines = tried.stdout.split("\n").filter((line) => /definition|controller/.test(line));
  expect(lines).toHaveLength(8);
  expect(lines.filter((line) => !line.endsWith(" unchanged (dry run)"))).toEqual([]);
  expect(tried.stdout).toMatch(/^namespace\/hookbox-system created \(dry run\)$/m);
});

describe.runIf(hasRealNode)("on a real node", () => {
  beforeAll(needsRuntime);

  test("run that is interrupted kills its command and deletes its sandbox", async () => {
    const { ns, kubeconfig } = await aPoolOfRuntimes();
    const running = startHookbox(kubeconfig, "run", "--pool", "python", "--", "sh", "-c", "echo begun; sleep 600");
    await until(() => Promise.resolve(running.said.stdout), (text) => text === "begun\n");
    expect(await ns.list("sandboxclaim")).toHaveLength(1);
    running.child.kill("SIGINT");
    expect(await running.ended).toBe(130);
    expect(running.said).toEqual({ stdout: "begun\n", stderr: "" });
    await until(() => ns.list("sandboxclaim"), (claims) => claims.length === 0);
  });

  test("url forwards a port until Ctrl-C; logs show what the container says", async () => {
    const { kubeconfig } = await aPoolOfRuntimes();
    expect(await hookbox(kubeconfig, "create", "--pool", "python", "--name", "session")).toMatchObject({ code: 0 });
    const forwarding = startHookbox(kubeconfig, "url", "session", "8080");
    const url = (await until(() => Promise.resolve(forwarding.said.stdout), (text) => text.endsWith("\n"))).trim();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await fetch(`${url}/v1/health`)).status).toBe(200);
    forwarding.child.kill("SIGINT");
    expect(await forwarding.ended).toBe(0);
    await sleep(100);
    await expect(fetch(`${url}/v1/health`)).rejects.toThrow();
    const { code, stdout } = await hookbox(kubeconfig, "logs", "session", "--tail", "5");
    expect({ code, isLog: stdout.startsWith('{"time":') }).toEqual({ code: 0, isLog: true });
    const following = startHookbox(kubeconfig, "logs", "-f", "session");
    await until(() => Promise.resolve(following.said.stdout), (text) => text !== "");
    following.child.kill("SIGINT");
    expect(await following.ended).toBe(130);
    expect(following.said.stderr).toBe("");
  });
});
