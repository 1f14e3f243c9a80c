/** The published Go client, unmodified: a sandbox from a pool, files and commands in it through our router, on a real node. @module */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { importRuntimeImage } from "../../dev/cluster/runtimeimage.ts";
import { upgrade } from "../../dev/deploy/install.ts";
import { makeNamespace, type Namespace, namespaceOf } from "../integration/namespace.ts";
import { aPool, aTemplate, untilFull } from "../integration/pools.ts";
import { hasRealNode, suite } from "../integration/suite.ts";
import { installedBy, progress } from "../node/installed.ts";
import { startRouter } from "../node/router.ts";
import { needsRuntime, SERVING } from "../node/runtimepods.ts";

const PROGRAM = fileURLToPath(new URL("../node/goclient", import.meta.url));
const run = promisify(execFile);

let folder: string;

/** Builds the program with the machine's Go. */
async function build(): Promise<void> {
  folder = mkdtempSync(join(tmpdir(), "hookbox-goclient-"));
  const env = { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-mod=readonly -buildvcs=false", GOWORK: "off" };
  await run("go", ["build", "-o", folder, "."], { cwd: PROGRAM, env });
}

/** Has the program do all it can with a sandbox of a pool of one. @param router its address; empty: it finds its own way */
async function works(ns: Namespace, kubeconfig: string, router: string): Promise<void> {
  await ns.apply(aTemplate("t", {}, SERVING), aPool("p", 1, "t"));
  await untilFull(ns, "p");
  const members = (await ns.list("sandbox")).map(({ metadata }) => metadata.name);
  const env = { ...process.env, KUBECONFIG: kubeconfig };
  const { stdout } = await run(join(folder, "goclient"), [ns.name, "p", router], { env });
  const told = JSON.parse(stdout);
  expect(told).toMatchObject({
    claim: expect.stringMatching(/^sandbox-claim-/),
    podIP: expect.stringMatching(/^\d+\.\d+\.\d+\.\d+$/),
    text: "hello",
    result: { stdout: "hello", stderr: "", exit_code: 0 },
    files: ["a.txt"],
    exists: false,
    again: told.sandbox,
    listed: [told.claim],
  });
  expect(members).toEqual([told.sandbox]);
  expect(told.pod).toBe(told.sandbox);
  await ns.until("sandbox", told.sandbox, (sandbox) => sandbox === undefined);
}

describe.runIf(hasRealNode)("the Go client makes a sandbox, works in it, finds it and deletes it", () => {
  beforeAll(build);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  describe("by the address of a router", () => {
    beforeAll(needsRuntime);

    test("in any namespace", async () => {
      await works(await makeNamespace(), suite.kubeconfig, (await startRouter()).url);
    });
  });

  describe("by nothing but a kubeconfig", () => {
    const { cluster } = installedBy("helm", []);

    test("in the router's own namespace, where that asks for no token", async () => {
      await importRuntimeImage(cluster().stateDir, { progress });
      await upgrade(cluster(), ["router.args={--authz-mode=allow-all}"], { progress });
      await works(namespaceOf(cluster(), "agent-sandbox-system"), cluster().kubeconfig, "");
    });
  });
});
