/** What a session may use, have and leave behind. @module */
import { setTimeout } from "node:timers/promises";
import { ResourceListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, test } from "vitest";
import type { Api } from "../../../packages/kube/api.ts";
import { DEFAULT_SCOPE } from "./scope.ts";
import { createSession } from "../../../packages/cli/mcp/session.ts";
import { SandboxClient } from "../../../packages/sdk/client.ts";
import { eventually, until } from "../../eventually.ts";
import { makeAgent, makeStage, textOf } from "./stage.ts";

const LABEL = "mcp.k8s-agent-sandbox/session-id";
const OTHERS = `
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxClaim
metadata: { name: others, labels: { team: a } }
spec: { warmPoolRef: { name: python } }
`;

test("what a session makes is marked as its own, and has an end", async () => {
  const stage = await makeStage();
  const { call, session } = await makeAgent(stage);
  const created = await call("create_sandbox", { name: "job", lifetimeMs: 600_000 });
  const { metadata, spec } = stage.cluster.get("SandboxClaim", "job") ?? { metadata: {} };
  expect(metadata.labels?.[LABEL]).toBe(session.id);
  expect(spec.lifecycle).toMatchObject({ shutdownPolicy: "Delete" });
  expect(textOf(created)).toMatch(/^Created job: Ready, from pool python, deleted at 2\d{3}-.*Z\.$/);
  const before = Date.parse(String(created.structuredContent?.["expiresAt"]));
  const set = await call("set_lifetime", { sandbox: "job", lifetimeMs: 3_600_000 });
  expect(Date.parse(String(set.structuredContent?.["expiresAt"])) - before).toBeGreaterThan(2_900_000);
  const forever = await call("set_lifetime", { sandbox: "job", lifetimeMs: 90_000_000 });
  expect(forever.isError).toBe(true);
});

test.for(
  [
    ["execute_command", { command: "true" }],
    ["read_file", { path: "a" }],
    ["delete_sandbox", {}],
    ["suspend_sandbox", {}],
    ["resume_sandbox", {}],
    ["set_lifetime", { lifetimeMs: 60_000 }],
    ["why", {}],
    ["get_url", { port: 80 }],
  ] as const,
)("%s does nothing to sandboxes that others have made", async ([name, input]) => {
  const stage = await makeStage();
  await stage.cluster.apply(OTHERS);
  const before = stage.cluster.get("SandboxClaim", "others")?.metadata.uid;
  const { call } = await makeAgent(stage);
  const refused = await call(name, { sandbox: "others", ...input });
  expect(refused).toMatchObject({ isError: true, _meta: { error: { code: "NOT_FOUND" } } });
  expect(textOf(refused)).toBe(
    'Cannot find sandbox "others": it does not exist, or this session may not use it. ' +
      "list_sandboxes shows those that it may use, create_sandbox creates one.",
  );
  expect(stage.cluster.get("SandboxClaim", "others")?.metadata).toMatchObject({ uid: before, labels: { team: "a" } });
});

test("a session sees its own and those of the selector, and no more", async () => {
  const stage = await makeStage();
  await stage.cluster.apply(OTHERS, OTHERS.replace("others", "secret").replace("team: a", "team: b"));
  const { call } = await makeAgent(stage, { selector: { team: "a" } });
  await call("create_sandbox", { name: "mine" });
  const { sandboxes } = (await call("list_sandboxes")).structuredContent as { sandboxes: unknown[] };
  expect(sandboxes).toMatchObject([{ name: "mine", isOwn: true }, { name: "others", isOwn: false }]);
  const ran = await call("execute_command", { sandbox: "others", command: "echo in" });
  expect(textOf(ran)).toMatch(/--- stdout\nin$/);
  expect((await call("execute_command", { sandbox: "secret", command: "true" })).isError).toBe(true);
  expect((await call("delete_sandbox", { sandbox: "none" })).structuredContent).toEqual({ deleted: false });
});

test("one that was deleted and made anew by somebody else is no longer the session's", async () => {
  const stage = await makeStage();
  const { call } = await makeAgent(stage);
  await call("create_sandbox", { name: "others" });
  await stage.cluster.delete("SandboxClaim", "others");
  await stage.cluster.settle();
  await stage.cluster.apply(OTHERS);
  expect((await call("execute_command", { sandbox: "others", command: "true" })).isError).toBe(true);
});

test("create_sandbox takes from the pools that are allowed", async () => {
  const stage = await makeStage();
  const { call, client } = await makeAgent(stage, { pools: ["python", "node"] });
  const { tools } = await client.listTools();
  const { properties = {} } = tools.find(({ name }) => name === "create_sandbox")?.inputSchema ?? {};
  expect(Object.keys(properties)).toEqual(["pool", "name", "env", "lifetimeMs"]);
  expect((await call("create_sandbox")).structuredContent).toMatchObject({ pool: "python" });
  for (const input of [{ pool: "other" }, { template: "python" }, { image: "busybox" }]) {
    expect(await call("create_sandbox", input), JSON.stringify(input)).toMatchObject({ isError: true });
  }
});

test("create_sandbox says which pools there are, and the true cause of what cannot start", async () => {
  const stage = await makeStage();
  const { call } = await makeAgent(stage);
  await stage.cluster.apply({
    apiVersion: "extensions.agents.x-k8s.io/v1beta1",
    kind: "SandboxWarmPool",
    metadata: { name: "broken" },
    spec: { replicas: 0, sandboxTemplateRef: { name: "none" } },
  });
  expect(textOf(await call("create_sandbox"))).toBe(
    "Cannot create a sandbox: there are several pools, and none is named. Name one: broken, python.",
  );
  const failed = await call("create_sandbox", { pool: "broken" });
  expect(failed).toMatchObject({ isError: true, _meta: { error: { reason: "TemplateNotFound" } } });
  expect(textOf(failed)).toMatch(/SandboxTemplate/);
  expect(textOf(await call("create_sandbox", { pool: "python", name: "a" }))).toMatch(/^Created a/);
  expect(textOf(await call("create_sandbox", { pool: "python", name: "a" }))).toBe(
    'Cannot create sandbox "a": the name is taken. Choose another name, or leave it out.',
  );
});

test("a session has no more sandboxes than allowed, at once or one after another", async () => {
  const stage = await makeStage();
  const { call } = await makeAgent(stage, { maxSandboxes: 2 });
  const made = await Promise.all([1, 2, 3].map(() => call("create_sandbox")));
  expect(made.filter(({ isError }) => isError).map(textOf)).toEqual([
    "Cannot create a sandbox: this session has 2, and may have no more. " +
    "Use one of them, or delete one with delete_sandbox.",
  ]);
  const [one] = made.filter(({ isError }) => !isError);
  await stage.cluster.delete("SandboxClaim", String(one?.structuredContent?.["name"]));
  expect((await call("create_sandbox")).isError, "one that somebody else has deleted makes room").toBeUndefined();
});

test("suspend, resume and why", async () => {
  const stage = await makeStage();
  const { call } = await makeAgent(stage);
  await call("create_sandbox", { name: "job" });
  expect(textOf(await call("suspend_sandbox", { sandbox: "job" }))).toMatch(/^job: Suspended \(SandboxSuspended/);
  const why = await call("why", { sandbox: "job" });
  expect(why.structuredContent).toMatchObject({ code: "Suspended", isOk: false, hopeless: true });
  expect(textOf(why)).toMatch(/^Suspended: .*\n[^]*What to do: .*\nWaiting does not help\.$/);
  expect((await call("resume_sandbox", { sandbox: "job" })).structuredContent).toMatchObject({ state: "Ready" });
});

test("resources: the list, each sandbox, and word that the list is another one", async () => {
  const stage = await makeStage();
  const { call, client } = await makeAgent(stage);
  let told = 0;
  client.setNotificationHandler(ResourceListChangedNotificationSchema, () => void told++);
  await call("create_sandbox", { name: "job" });
  const { resources } = await client.listResources();
  expect(resources.map(({ uri, name }) => [uri, name])).toEqual([
    ["sandboxes://list", "get_sandboxes"],
    ["sandbox://job", "job"],
  ]);
  const read = async (uri: string) => {
    const { contents: [content] } = await client.readResource({ uri });
    return JSON.parse(content && "text" in content ? content.text : "");
  };
  expect(await read("sandboxes://list")).toMatchObject({ sandboxes: [{ name: "job", state: "Ready" }] });
  expect(await read("sandbox://job")).toMatchObject({ name: "job", pool: "python" });
  await expect(read("sandbox://none")).rejects.toThrow(/does not exist, or this session may not use it/);
  await until(() => told > 0);
  expect(told).toBe(1);
});

test("the end of a session deletes what it has made, also what is being made, and nothing else", async () => {
  const stage = await makeStage();
  await stage.cluster.apply(OTHERS, OTHERS.replace("others", "team"));
  const { call, client, session } = await makeAgent(stage, { selector: { team: "a" } });
  await call("create_sandbox", { name: "one" });
  await call("execute_command", { sandbox: "team", command: "true" });
  await stage.cluster.patch("SandboxWarmPool", "python", { spec: { replicas: 0 } });
  await stage.cluster.settle();
  stage.cluster.pods.plan("*", { fault: "hangs" });
  const making = call("create_sandbox", { name: "two", lifetimeMs: 86_400_000 });
  making.catch(() => {});
  await eventually(() => stage.cluster.get("SandboxClaim", "two")).toBeDefined();
  await client.close();
  expect(await session.end()).toContain("one");
  expect(stage.cluster.objects("SandboxClaim").map(({ metadata: { name } }) => name).sort()).toEqual([
    "others",
    "team",
  ]);
});

test("the end of a session waits for what the API server is just being asked for", async () => {
  const { cluster: { api, objects }, routerUrl } = await makeStage();
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const slow: Api["send"] = async (request) => {
    if (request.method === "POST") {
      asked.resolve();
      await answer.promise;
    }
    return await api.send(request);
  };
  const client = new SandboxClient({ api: { ...api, send: slow }, namespace: "default", routerUrl });
  const session = createSession(client, { ...DEFAULT_SCOPE });
  const making = session.create({ pool: "python" }, new AbortController().signal);
  making.catch(() => {});
  await asked.promise;
  const ending = session.end();
  expect(await Promise.race([ending, setTimeout(300, "waits")])).toBe("waits");
  answer.resolve();
  await ending;
  expect(objects("SandboxClaim")).toEqual([]);
  await expect(making).rejects.toThrow("the session has ended");
});

test("a session may also leave its sandboxes: they end after the default lifetime", async () => {
  const stage = await makeStage();
  const { call, session } = await makeAgent(stage, { deleteOnExit: false });
  const { clock } = stage.cluster;
  const end = Math.floor(clock.now() / 1000) * 1000 + DEFAULT_SCOPE.lifetimeMs;
  await call("create_sandbox", { name: "job" });
  expect(await session.end()).toEqual([]);
  await clock.advance(end - clock.now() - 1000);
  expect(stage.cluster.get("SandboxClaim", "job")).toBeDefined();
  await clock.advance(2000);
  expect(stage.cluster.get("SandboxClaim", "job")).toBeUndefined();
  expect(textOf(await call("create_sandbox"))).toBe("Cannot go on: the session has ended.");
});
