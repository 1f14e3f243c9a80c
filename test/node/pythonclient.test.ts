/** The published client at work inside sandboxes: our runtime, reached through our router, on a real node. @module */
import { beforeAll, describe, expect, test } from "vitest";
import { RUNTIME_IMAGE } from "../../dev/cluster/runtimeimage.ts";
import { makeNamespace } from "../integration/namespace.ts";
import { aPool, aTemplate, untilFull, untilReady } from "../integration/pools.ts";
import { startRouter } from "./router.ts";
import { needsRuntime } from "./runtimepods.ts";
import { needsClient, runProgram, startProgram } from "../clients/program.ts";
import { hasRealNode } from "../integration/suite.ts";

needsClient();

const BYTES = 20_000_000;
const VOLUME = {
  metadata: { name: "work" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } },
};
const SERVING = {
  terminationGracePeriodSeconds: 1,
  containers: [{
    name: "main",
    image: RUNTIME_IMAGE,
    imagePullPolicy: "IfNotPresent",
    ports: [{ containerPort: 8888 }],
    volumeMounts: [{ name: "work", mountPath: "/workspace" }],
    readinessProbe: { httpGet: { path: "/", port: 8888 }, periodSeconds: 1 },
  }],
};

describe.runIf(hasRealNode)("inside a sandbox", () => {
  beforeAll(needsRuntime);

  test("commands and files work through the router; a request wakes a suspended sandbox", async () => {
    const ns = await makeNamespace();
    await ns.apply(aTemplate("t", { volumeClaimTemplates: [VOLUME] }, SERVING), aPool("p", 1, "t"));
    await untilFull(ns, "p");
    const router = await startRouter();
    const program = await startProgram(ns, "inside", { url: router.url, bytes: BYTES });
    const told = await program.next();
    expect(told).toMatchObject({
      written: { stdout: "42\n", stderr: "", exit_code: 0, timed_out: false },
      failed: { stdout: "", stderr: "oh\n", exit_code: 3 },
      late: { timed_out: true },
      text: "hello",
      listed: ["a.txt"],
      exists: [true, false],
      same: true,
    });
    await ns.patch("sandbox", told.sandbox, { spec: { operatingMode: "Suspended" } });
    await untilReady(ns, told.claim, "SandboxSuspended");
    program.goOn();
    expect((await program.next()).after).toMatchObject({ stdout: "hello", stderr: "", exit_code: 0 });
    await untilReady(ns, told.claim);
    expect((await ns.get("sandbox", told.sandbox)).spec.operatingMode).toBe("Running");
  });

  test("commands by gRPC and files by REST, straight to the Pod", async () => {
    const ns = await makeNamespace();
    await ns.apply(aTemplate("t", { volumeClaimTemplates: [VOLUME] }, SERVING), aPool("p", 1, "t"));
    await untilFull(ns, "p");
    expect(await runProgram(ns, "direct", { bytes: BYTES })).toEqual({
      shell: { stdout: "42\n", stderr: "oh\n", exit_code: 3, timed_out: false },
      there: { stdout: "/workspace/folder\ngreen\n", stderr: "", exit_code: 0, timed_out: false },
      late: { stdout: "", stderr: expect.any(String), exit_code: 124, timed_out: true },
      left: { stdout: "0\n", stderr: "", exit_code: 0, timed_out: false },
      text: "hello",
      listed: ["a b.txt"],
      exists: [true, false],
      same: true,
      after: false,
    });
  });
});
