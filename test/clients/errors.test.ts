/**
 * What the published Python client raises when a sandbox cannot be had. For forbidden variables see item 8 of the
 * checklist. @module
 */
import { expect, test } from "vitest";
import { until } from "../integration/kubectl.ts";
import { makeNamespace, type Namespace } from "../integration/namespace.ts";
import { aPool, aTemplate, untilFull } from "../integration/pools.ts";
import { needsClient, runProgram, startProgram } from "./program.ts";
import "../integration/suite.ts";

needsClient();

const VOLUME = {
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } },
};

interface Case {
  name: string;
  /** In addition to the template `t` and its pool `p`, which allow nothing. */
  objects?: object[];
  options: object;
  error: string;
  message: RegExp;
}

const cases: Case[] = [
  {
    name: "no such pool",
    options: { warmpool: "no-such" },
    error: "SandboxWarmPoolNotFoundError",
    message: /no-such/,
  },
  {
    name: "a pool without its template",
    objects: [aPool("empty", 0, "no-such")],
    options: { warmpool: "empty" },
    error: "SandboxTemplateNotFoundError",
    message: /no-such/,
  },
  {
    name: "volumes that the template forbids",
    options: { warmpool: "p", volume_claim_templates: [VOLUME] },
    error: "SandboxClaimFailedError",
    message: /VolumeClaimTemplatesError/,
  },
  {
    name: "a Pod label of a domain that is not allowed",
    options: { warmpool: "p", pod_labels: { "example.com/team": "red" } },
    error: "SandboxClaimFailedError",
    message: /InvalidMetadata.*"example.com\/team"/,
  },
];

test.for(cases)("create_sandbox fails at once, and leaves no claim: $name", async ({ objects = [], ...wanted }) => {
  const ns = await withPool(1);
  if (objects.length > 0) await ns.apply(...objects);
  // Far longer than a test may take: the client gives up because of an observation.
  const told = await runProgram(ns, "create", { ...wanted.options, sandbox_ready_timeout: 600 });
  expect(told).toEqual({
    error: wanted.error,
    bases: expect.arrayContaining(["SandboxError"]),
    message: expect.stringMatching(wanted.message),
  });
  expect(await ns.list("sandboxclaim")).toEqual([]);
});

test("a sandbox that is not Ready in time: TimeoutError, and the claim with its Sandbox is gone", async () => {
  const ns = await makeNamespace();
  await ns.apply(aTemplate("t", {}, { nodeSelector: { "example.com/no": "such-node" } }), aPool("p", 0, "t"));
  const told = await runProgram(ns, "create", { warmpool: "p", sandbox_ready_timeout: 5 });
  expect(told).toMatchObject({ error: "TimeoutError" });
  expect(await ns.list("sandboxclaim")).toEqual([]);
  await until(() => ns.list("sandbox"), (left) => left.length === 0);
});

test("a claim's name that is taken: an error, unless the caller wants the one that is there, of that pool", async () => {
  const ns = await withPool(1);
  await ns.apply(aPool("other", 0, "t"));
  const program = await startProgram(ns, "named");
  const made = await program.next();
  program.goOn();
  expect(await program.next()).toEqual(made);
  const conflict = await program.next();
  expect(conflict).toMatchObject({
    bases: expect.arrayContaining(["ApiException"]),
    message: expect.stringMatching(/^\(409\)/),
  });
  expect(await program.next()).toMatchObject({ error: "ValueError", message: expect.stringMatching(/other/) });
  program.goOn();
  await program.ended();
  expect(await ns.get("sandboxclaim", "named")).toBeUndefined();
});

async function withPool(replicas: number): Promise<Namespace> {
  const ns = await makeNamespace();
  await ns.apply(aTemplate("t"), aPool("p", replicas, "t"));
  await untilFull(ns, "p");
  return ns;
}
