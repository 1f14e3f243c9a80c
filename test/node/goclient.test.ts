/** The published Go client, unmodified: a sandbox from a pool, files and commands in it through our router, on a real node. @module */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { makeNamespace } from "../integration/namespace.ts";
import { aPool, aTemplate, untilFull } from "../integration/pools.ts";
import { hasRealNode, suite } from "../integration/suite.ts";
import { startRouter } from "./router.ts";
import { needsRuntime, SERVING } from "./runtimepods.ts";

const PROGRAM = fileURLToPath(new URL("goclient", import.meta.url));
const run = promisify(execFile);

/** Builds the program with the machine's Go; returns its path. */
async function build(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "hookbox-goclient-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const env = { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-mod=readonly -buildvcs=false", GOWORK: "off" };
  await run("go", ["build", "-o", folder, "."], { cwd: PROGRAM, env });
  return join(folder, "goclient");
}

describe.runIf(hasRealNode)("the Go client", () => {
  beforeAll(needsRuntime, 600_000);

  test("makes a sandbox, works in it, finds it and deletes it", { timeout: 600_000 }, async () => {
    const program = await build();
    const ns = await makeNamespace();
    await ns.apply(aTemplate("t", {}, SERVING), aPool("p", 1, "t"));
    await untilFull(ns, "p");
    const members = (await ns.list("sandbox")).map(({ metadata }) => metadata.name);
    const router = await startRouter();
    const { stdout } = await run(program, [ns.name, "p", router.url], {
      env: { ...process.env, KUBECONFIG: suite.kubeconfig },
    });
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
  });
});
