/** The contract's checklist, items 8 to 11: what Ready promises, by address and by name, first time and after a resume. @module */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { condition, type Loose, makeNamespace } from "../integration/namespace.ts";
import { aClaim, aPool, aTemplate, untilFull, untilReady } from "../integration/pools.ts";
import { needsClient, runProgram, startProgram } from "./program.ts";
import { rawRequests } from "./raw.ts";
import { hasRealNode } from "../integration/suite.ts";

needsClient();

const KEY = (name: string) => `agents.x-k8s.io/${name}`;
const RUNTIME = readFileSync(new URL("runtime.sh", import.meta.url), "utf8");

/** A busybox that answers the legacy protocol on port 8888, and takes its time before it does. */
const SERVING = {
  containers: [{
    name: "main",
    image: "busybox:1.37",
    command: [
      "sh",
      "-c",
      'sleep 2; printf %s "$0" > /tmp/runtime.sh; exec nc -ll -p 8888 -e sh /tmp/runtime.sh',
      RUNTIME,
    ],
    ports: [{ containerPort: 8888 }],
    readinessProbe: { httpGet: { path: "/", port: 8888 }, periodSeconds: 1 },
  }],
};

test.for(["Allowed", "Overrides"])("8. env under %s: a fresh Pod whose first container has it", async (policy) => {
  const ns = await makeNamespace();
  const sidecar = { image: "busybox:1.37", command: ["sleep", "86400"] };
  const containers = [{ ...sidecar, name: "first" }, { ...sidecar, name: "second" }];
  await ns.apply(aTemplate("t", { envVarsInjectionPolicy: policy }, { containers }), aPool("p", 1, "t"));
  await untilFull(ns, "p");
  const [member] = await ns.list("pod");
  const { pod: name } = await runProgram(ns, "create", { warmpool: "p", env: { WHO: "me" } });
  const pod = await ns.get("pod", name);
  expect(pod.metadata.uid).not.toBe(member.metadata.uid);
  expect(pod.spec.containers.map(({ env }: Loose) => env)).toEqual([[{ name: "WHO", value: "me" }], undefined]);
});

test("8. env under Disallowed: EnvVarsInjectionRejected, long before the client's own limit", async () => {
  const ns = await makeNamespace();
  await ns.apply(aTemplate("t", { envVarsInjectionPolicy: "Disallowed" }), aPool("p", 0, "t"));
  const told = await runProgram(ns, "create", { warmpool: "p", env: { WHO: "me" }, sandbox_ready_timeout: 600 });
  expect(told).toMatchObject({
    error: "SandboxClaimFailedError",
    message: expect.stringMatching(/EnvVarsInjectionRejected/),
  });
});

test("9. Ready: the Sandbox is Ready with addresses, its Pod has its name, and the first POST succeeds", async () => {
  const ns = await makeNamespace();
  await ns.apply(aTemplate("t", { envVarsInjectionPolicy: "Allowed" }, SERVING), aPool("p", 2, "t"));
  // The pool is not full yet: some of these are warm, some cold, and each is asked as soon as it is Ready.
  for (const env of [undefined, { WHO: "me" }]) {
    const commands = hasRealNode ? ["echo hello $WHO", "echo oh >&2; exit 3", "hostname"] : [];
    const { results } = await runProgram(ns, "commands", { commands, env });
    expect(results).toEqual([
      { stdout: `hello${env ? " me" : ""}\n`, stderr: "", exit_code: 0, timed_out: false },
      { stdout: "", stderr: "oh\n", exit_code: 3, timed_out: false },
      { stdout: expect.stringMatching(/.+\n/), stderr: "", exit_code: 0, timed_out: false },
    ].slice(0, commands.length));
  }
  await ns.apply(aClaim("c", "p"));
  const { sandbox } = (await untilReady(ns, "c")).status;
  const behind = await ns.get("sandbox", sandbox.name);
  expect(condition(behind, "Ready").status).toBe("True");
  expect(behind.status.podIPs).toEqual(sandbox.podIPs);
  expect(behind.metadata.annotations[KEY("pod-name")] || sandbox.name).toBe(sandbox.name);
  expect((await ns.get("pod", sandbox.name)).status.podIP).toBe(sandbox.podIPs[0]);
});

test("10. serviceFQDN is there with service: true, and names a headless Service with the Pod's address", async () => {
  const ns = await makeNamespace();
  await ns.apply(aTemplate("with", { service: true }), aPool("with", 1), aTemplate("without"), aPool("without", 1));
  await untilFull(ns, "with");
  await untilFull(ns, "without");
  const told = await runProgram(ns, "create", { warmpool: "with" });
  expect(told.fqdn).toBe(`${told.sandbox}.${ns.name}.svc.cluster.local`);
  const service = await ns.get("service", told.sandbox);
  expect(service.spec.clusterIP).toBe("None");
  const slices = JSON.parse(
    await ns.kubectl("get", "endpointslices", "-l", `kubernetes.io/service-name=${told.sandbox}`, "-o", "json"),
  ).items;
  expect(slices.flatMap(({ endpoints }: Loose) => endpoints)).toMatchObject([{ addresses: [told.ip] }]);
  expect(await runProgram(ns, "create", { warmpool: "without" })).toMatchObject({ fqdn: null });
});

test("11. after a resume podIPs are the new Pod's, no later than Ready", async () => {
  const ns = await makeNamespace();
  await ns.apply(aTemplate("t", {}, SERVING), aPool("p", 1, "t"));
  await untilFull(ns, "p");
  const program = await startProgram(ns, "resume", { command: hasRealNode ? "echo still here" : undefined });
  const before = await program.next();
  const versions = await (await rawRequests(ns)).follow("sandboxes");
  await ns.patch("sandbox", before.sandbox, { spec: { operatingMode: "Suspended" } });
  await ns.until("pod", before.pod, (pod) => pod === undefined);
  await untilReady(ns, before.claim, "SandboxSuspended");
  // Suspension is said as soon as it begins; the addresses go with the Pod.
  await ns.until("sandbox", before.sandbox, ({ status }) => status.podIPs === undefined);
  await ns.until("sandboxclaim", before.claim, ({ status }) => status.sandbox.podIPs === undefined);
  program.goOn();
  expect(await program.next()).toEqual({ ip: null, status: ["SandboxNotReady", expect.any(String)] });
  await ns.patch("sandbox", before.sandbox, { spec: { operatingMode: "Running" } });
  await untilReady(ns, before.claim);
  program.goOn();
  const after = await program.next();
  const { podIP } = (await ns.get("pod", before.pod)).status;
  expect(after).toMatchObject({ sandbox: before.sandbox, ip: podIP, status: ["SandboxReady", expect.any(String)] });
  if (hasRealNode) expect(await program.next()).toMatchObject({ stdout: "still here\n", exit_code: 0 });
  const own = versions.filter(({ metadata }) => metadata.name === before.sandbox);
  const since = own.findIndex((sandbox) => condition(sandbox, "Ready")?.status === "False");
  const ready = own.slice(since).filter((sandbox) => condition(sandbox, "Ready")?.status === "True");
  expect(ready.length).toBeGreaterThan(0);
  expect(ready.map(({ status }) => status.podIPs)).toEqual(ready.map(() => [podIP]));
});
