/** What people who know kubectl, docker or e2b type: other names, describe, wait, events, extend, ssh, version. @module */
import { expect, test } from "vitest";
import manifest from "../../packages/cli/package.json" with { type: "json" };
import { fakeApi, listOf, run } from "./fakecontext.ts";
import { someSandboxes } from "./sandboxcontext.ts";

const EVENTS = "/api/v1/namespaces/default/events";
const event = (kind: string, name: string, reason: string, last: string, type = "Normal") => ({
  metadata: { name: `${name}.${reason}`, namespace: "default", uid: `${name}-${reason}` },
  involvedObject: { kind, name, namespace: "default" },
  reason,
  type,
  message: `of ${name}`,
  lastTimestamp: last,
});

test.for([
  ["list claims", "get claims"],
  ["ps", "get"],
  ["delete none", "rm none"],
  ["kill none", "rm none"],
  ["inspect none", "describe none"],
])("%s is %s", async ([line = "", same = ""]) => {
  const { setting } = await someSandboxes();
  await run("create --pool python --name mine", setting);
  const ran = await run(line, setting);
  expect(ran).toEqual(await run(same, setting));
  expect(ran.stdout + ran.stderr).not.toBe("");
});

test.for(["version", "--version", "-v", "-V"])("%s prints the version", async (line) => {
  expect(await run(line)).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: "" });
});

test("the help of a command names its other names, its usage does not", async () => {
  const { stdout } = await run("rm --help");
  expect(stdout).toMatch(/^Usage: hookbox rm \[options\]/);
  expect(stdout).toContain("Other names of this command: delete, kill");
});

test("ls without a sandbox says how to list sandboxes", async () => {
  expect((await run("ls")).stderr).toContain('To list sandboxes, use "hookbox get".');
});

test("ssh runs a command, or a shell on its input", async () => {
  const { setting } = await someSandboxes();
  await run("create --pool python --name mine", setting);
  expect(await run(["ssh", "mine", "--", "sh", "-c", "echo out; exit 3"], setting)).toEqual({
    code: 3,
    stdout: "out\n",
    stderr: "",
  });
  expect(await run("ssh mine", { ...setting, input: "echo from the shell\n" })).toMatchObject({
    code: 0,
    stdout: "from the shell\n",
  });
});

test("describe shows what belongs to a claim, and its STATUS in JSON", async () => {
  const { setting, cluster } = await someSandboxes();
  await run("create --pool python --name mine --label team=a --timeout 2h", setting);
  const sandbox = cluster.get("SandboxClaim", "mine")?.status.sandbox.name;
  const { code, stdout, stderr } = await run("describe mine", setting);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  for (
    const line of [
      "Name: +mine",
      "Kind: +SandboxClaim",
      "Status: +Running",
      `Sandbox: +${sandbox}`,
      "Pool: +python",
      "Expires: +\\d+m",
      " +team=a",
      " +Ready +True +DependenciesReady",
    ]
  ) {
    expect(stdout).toMatch(new RegExp(`^${line}`, "m"));
  }
  expect(stdout).not.toContain("Why:");
  expect(JSON.parse((await run("describe claim mine -o json", setting)).stdout)).toMatchObject({
    object: { metadata: { name: "mine" } },
    status: { name: "Running", tone: "good" },
    finding: { code: "Ready" },
    sandbox: { kind: "Sandbox", metadata: { name: sandbox } },
    pod: { metadata: { name: sandbox } },
  });
  expect((await run(`describe sandbox/${sandbox}`, setting)).stdout).toMatch(/^Claim: +mine$/m);
  expect((await run("describe pool python", setting)).stdout).toMatch(/^Ready: +\d of \d$/m);
});

test("describe says why, and what to do; a name that nothing has is an error", async () => {
  const { setting } = await someSandboxes();
  await run("create --pool none --name lost --no-wait", setting);
  const { stdout } = await run("describe lost", setting);
  expect(stdout).toMatch(/^Why: +WarmPoolNotFound: SandboxWarmPool "none"/m);
  expect(stdout).toMatch(/^Do: +Create it/m);
  expect(await run("describe nobody", setting)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("there is no claim, Sandbox, pool or template of that name"),
  });
  expect(await run("describe cheese/x", setting)).toMatchObject({ code: 2 });
});

test("events are those about sandboxes, the newest last", async () => {
  const api = fakeApi({
    [`GET ${EVENTS}`]: listOf(
      "v1",
      "Event",
      event("Pod", "box", "Failed", "2026-11-21T11:59:00Z", "Warning"),
      event("Pod", "other", "Failed", "2026-11-21T11:59:30Z"),
      event("PersistentVolumeClaim", "work-box", "Provisioning", "2026-11-21T11:58:30Z"),
      event("SandboxClaim", "mine", "Bound", "2026-11-21T11:58:00Z"),
    ),
    "GET /apis/agents.x-k8s.io/v1beta1/namespaces/default/sandboxes": listOf("agents.x-k8s.io/v1beta1", "Sandbox", {
      metadata: { name: "box", namespace: "default" },
    }),
  });
  expect((await run("events", { api })).stdout).toBe(
    `LAST SEEN   TYPE      REASON         OBJECT                           MESSAGE
2m          Normal    Bound          sandboxclaim/mine                of mine
90s         Normal    Provisioning   persistentvolumeclaim/work-box   of work-box
60s         Warning   Failed         pod/box                          of box
`,
  );
  expect((await run("events --types warning", { api })).stdout).toMatch(
    /^LAST.*\n60s +Warning +Failed +pod\/box +of box\n$/,
  );
  expect(JSON.parse((await run("events -o json", { api })).stdout).items).toHaveLength(3);
});

test("wait says when a sandbox is ready, suspended or deleted, and ends with 124 if it is not in time", async () => {
  const { setting } = await someSandboxes();
  await run("create --image box --name own --no-wait", setting);
  expect(await run("wait own", setting)).toEqual({ code: 0, stdout: "own is ready\n", stderr: "" });
  expect((await run("wait pool/python", setting)).stdout).toBe("pool/python is ready\n");
  expect((await run("wait own --for condition=Ready", setting)).stdout).toBe("own has condition Ready True\n");
  expect(await run("wait own --for suspended --timeout 20ms", setting)).toEqual({
    code: 124,
    stdout: "",
    stderr: "Cannot wait longer for own: it was not suspended after 0.02 s\nTo find out why: hookbox why own\n",
  });
  await run("suspend own", setting);
  expect((await run("wait own --for suspended", setting)).stdout).toBe("own is suspended\n");
  await run("rm own", setting);
  expect((await run("wait own --for deleted", setting)).stdout).toBe("own is deleted\n");
  expect(await run("wait own", setting)).toMatchObject({ code: 1 });
  expect(await run("wait own --for lunch", setting)).toMatchObject({ code: 2 });
});

test("wait reports at once why a sandbox cannot become ready", async () => {
  const { setting } = await someSandboxes();
  await run("create --pool none --name lost --no-wait", setting);
  expect(await run("wait lost", setting)).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining('SandboxWarmPool "none"'),
  });
});

test("extend moves the end, sets one, and removes it", async () => {
  const { setting, cluster } = await someSandboxes();
  await run("create --pool python --name mine --timeout 1h", setting);
  const end = () => cluster.get("SandboxClaim", "mine")?.spec.lifecycle.shutdownTime;
  const before = Date.parse(end());
  expect((await run("extend mine 1d", setting)).stdout).toMatch(/^mine expires in .*, at 2\S+Z\n$/);
  expect(Date.parse(end()) - before).toBe(86_400_000);
  expect((await run("extend mine --never", setting)).stdout).toBe("mine never expires\n");
  expect(end()).toBeUndefined();
  expect(await run("extend mine 1h", setting)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Give it one: --from-now 8h"),
  });
  expect((await run("extend mine --from-now 30m", setting)).code).toBe(0);
  expect(end()).toBeDefined();
  expect(await run("extend mine", setting)).toMatchObject({ code: 2 });
});
