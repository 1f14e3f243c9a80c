/** Late binding from the SDK through the router to the runtime, with a token that only router and Pod can derive. @module */
import { Buffer } from "node:buffer";
import { readFile, stat, writeFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { deriveRuntimeToken } from "../../packages/api/router/scopedtoken.ts";
import { createRouterDelivery } from "../../packages/binder/routerdelivery.ts";
import { variable } from "../../packages/process/runprocess.ts";
import { readOptions } from "../../packages/runtime/options.ts";
import { startRuntime } from "../../packages/runtime/start.ts";
import { writeDerivedToken } from "../../packages/runtime/token.ts";
import { bind, unbind } from "../../packages/sdk/bind.ts";
import { AuthenticationError, AuthorizationError, ConnectionError } from "../../packages/sdk/errors.ts";
import { createRuntimeClient } from "../../packages/sdk/runtime/runtimeclient.ts";
import { createCode } from "../../packages/sdk/code/code.ts";
import { createCommands } from "../../packages/sdk/commands/commands.ts";
import type { SandboxTransport } from "../../packages/sdk/transport/transport.ts";
import { until } from "../eventually.ts";
import { createFakeApi, type FakeApi } from "../kube/fakeapi.ts";
import { startMain } from "../mainprocess.ts";
import { naming, PODS, putPod, putSandbox, startBackend, startRouter } from "../router/stage.ts";
import { makeRoot } from "../runtime/folders.ts";
import { FREE_PORTS } from "../runtime/freeports.ts";

const KEY = "0123456789abcdef0123456789abcdef\n";
const UID = "pod-of-demo";
const SECRET = "s3cr3t-value";
const SECRETS = "/api/v1/namespaces/team-a/secrets/hookbox-runtime-key";

function putKey(api: FakeApi, key = KEY): void {
  api.put(SECRETS, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "hookbox-runtime-key", namespace: "team-a" },
    data: { key: Buffer.from(key).toString("base64") },
  });
}

/** A sandbox whose runtime has the token that an init container has derived from `key`; undefined: it has none. */
async function start(key: string | undefined, ...more: string[]) {
  const made = await makeRoot();
  const flags = [
    ...FREE_PORTS,
    "--host",
    "127.0.0.1",
    "--root",
    made.root.path,
  ];
  const file = `${made.around}/token`;
  if (key !== undefined) {
    await writeFile(`${made.around}/key`, key);
    await writeDerivedToken(`${made.around}/key`, UID, file);
    flags.push(...more, "--token-file", file, "--token-scope", "bind", "--pod-uid", UID);
  }
  const runtime = await startRuntime(readOptions(flags, variable)!, () => {});
  onTestFinished(() => runtime.stop());
  const api = createFakeApi();
  putSandbox(api);
  putPod(api, "demo", { metadata: { uid: UID } });
  const router = await startRouter(api, { runtimePort: runtime.restPort });
  const transport: SandboxTransport = {
    kind: "router",
    fetch: (_, path, { method = "GET", headers, body, signal } = {}) =>
      fetch(`${router.url}${path}`, {
        method,
        ...(body === undefined ? {} : { body: body as BodyInit }),
        headers: { ...headers, ...naming(runtime.restPort) },
        signal: signal ?? null,
      }),
    address: () => Promise.reject(new Error("not asked for")),
    close: () => Promise.resolve(),
  };
  const client = createRuntimeClient(transport, { kind: "Sandbox", namespace: "team-a", name: "demo" }, undefined);
  const run = async (command: string) => (await createCommands(client).run(command)).stdout;
  return { api, router, client, run, made, runtimePort: runtime.restPort };
}

test("who may reach a sandbox through the router gives it keys, adds to them, and removes them", async () => {
  const { api, client, run, made } = await start(KEY);
  putKey(api);
  const files = [{ path: "netrc", data: SECRET }, { path: "bin", data: Uint8Array.of(0, 255), mode: 0o640 }];
  expect(await bind(client, { env: { API_KEY: SECRET }, files })).toEqual({
    env: ["API_KEY"],
    files: ["bin", "netrc"],
  });
  expect(await run("echo $API_KEY; cat netrc")).toBe(`${SECRET}\n${SECRET}`);
  expect((await stat(made.at("netrc"))).mode & 0o777).toBe(0o600);
  expect((await stat(made.at("bin"))).mode & 0o777).toBe(0o640);
  expect(await bind(client, { env: { API_KEY: "newer", OTHER: "1" } })).toEqual({
    env: ["API_KEY", "OTHER"],
    files: ["bin", "netrc"],
  });
  expect(await run("echo $API_KEY $OTHER; cat netrc")).toBe(`newer 1\n${SECRET}`);
  await unbind(client, {});
  expect(await run('echo "$API_KEY$OTHER"; ls')).toBe("\n");
});

test("each Pod has a token of its own, which the key's owner can compute, and a sandbox cannot reach another's", async () => {
  const { router, api, made } = await start(KEY);
  putKey(api);
  const token = await readFile(`${made.around}/token`, "utf8");
  expect(token).toBe(await deriveRuntimeToken(Buffer.from(KEY), UID));
  expect(token).not.toBe(await deriveRuntimeToken(Buffer.from(KEY), "another"));
  expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(router.lines.join()).not.toContain(token);
});

test.for<[string, string | undefined, string | undefined, unknown, string]>([
  ["no key in the namespace", KEY, undefined, AuthenticationError, "docs/howto/secrets.md"],
  [
    "another key than the Pod's",
    KEY,
    "another key of 32 bytes or more, or more",
    AuthenticationError,
    "see docs/howto",
  ],
  ["no token in the sandbox", undefined, KEY, AuthorizationError, "no token is mounted"],
  ["a key that is too short", KEY, "short", ConnectionError, "Secret hookbox-runtime-key cannot be used"],
])("with %s nothing is bound, and the error says what to do", async ([, own, stored, error, words]) => {
  const { api, client, run } = await start(own);
  if (stored !== undefined) putKey(api, stored);
  const bound = bind(client, { env: { API_KEY: SECRET }, signal: AbortSignal.timeout(60_000) });
  await expect(bound).rejects.toThrow(words);
  await expect(bound).rejects.toBeInstanceOf(error);
  await expect(bound).rejects.not.toThrow(SECRET);
  expect(await run('echo "$API_KEY"')).toBe("\n");
});

test("only a request to bind at the runtime's port gets the token; the client's own never passes", async () => {
  const { api, router: other } = await start(KEY);
  putKey(api);
  const { port } = await startBackend((request, response) => response.end(request.headers.authorization ?? "none"));
  const router = await startRouter(api, { runtimePort: port });
  expect(await (await fetch(`${other.url}/v1/bind`, { headers: naming(port) })).text()).toBe("none");
  for (const path of ["/v1/bind/", "/v1/bindx", "/v1/files/v1/bind", "/x?/v1/bind", "//v1/bind", "/v1/%62ind"]) {
    const headers = { ...naming(port), Authorization: "Bearer mine" };
    expect([path, await (await fetch(`${router.url}${path}`, { headers })).text()]).toEqual([path, "none"]);
  }
  const token = await deriveRuntimeToken(Buffer.from(KEY), UID);
  expect(await (await fetch(`${router.url}/v1/bind?a`, { headers: naming(port) })).text()).toBe(`Bearer ${token}`);
});

test("values do not go to a Pod that got the address while the router read the key", async () => {
  const { api } = await start(KEY);
  putKey(api);
  const bodies: string[] = [];
  const { port } = await startBackend(async (request, response) => {
    bodies.push(await text(request));
    response.end(request.headers["x-sandbox-pod-uid"]);
  });
  const router = await startRouter(api, { runtimePort: port });
  const podUID = async () => await (await fetch(`${router.url}/`, { headers: naming(port) })).text();
  api.intercept = async ({ path }) => {
    if (path !== SECRETS) return undefined;
    api.remove(`${PODS}/demo`);
    putPod(api, "demo", { metadata: { uid: "another" } });
    await until(async () => await podUID() === "another");
    return undefined;
  };
  const body = JSON.stringify({ env: { API_KEY: SECRET } });
  const answer = await fetch(`${router.url}/v1/bind`, { method: "POST", headers: naming(port), body });
  expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining("has just been replaced")]);
  expect(bodies.join()).not.toContain(SECRET);
});

test("the runtime's own command derives the token, and says what is wrong", async () => {
  const made = await makeRoot();
  await writeFile(`${made.around}/key`, KEY);
  const flags = [
    "packages/runtime/main.ts",
    "--derive-token-from",
    `${made.around}/key`,
    "--token-file",
    `${made.around}/t`,
  ];
  const good = await startMain("node", [...flags, "--pod-uid", UID], undefined);
  expect(await good.ended).toBe(0);
  expect(await readFile(`${made.around}/t`, "utf8")).toBe(await deriveRuntimeToken(Buffer.from(KEY), UID));
  const bad = await startMain("node", flags, undefined);
  expect(await bad.ended).toBe(1);
  expect(bad.log()).toContain("the UID of the Pod is not known");
});

test("a Pod that starts for a claim runs nothing before its variables have come, not even an interpreter", async () => {
  const { api, client, run, router, runtimePort } = await start(KEY, "--claim-uid", "uid-of-claim");
  putKey(api);
  const [order, command, code] = [
    [] as string[],
    run("echo $API_KEY"),
    createCode(client).runCode("process.env.API_KEY", {
      language: "javascript",
    }),
  ];
  void Promise.all([command, code]).then(() => order.push("ran"));
  // Files need no variables.
  expect((await client.request("/v1/health", { action: "ask" })).ok).toBe(true);
  await bind(client, { env: { OTHER: "of a program" } });
  order.push("bound");
  const binder = createRouterDelivery(router.url, () => undefined, 60_000, runtimePort);
  await binder(
    { namespace: "team-a", name: "demo", uid: "uid-demo", claim: "uid-of-claim" },
    { env: { API_KEY: SECRET }, files: [], start: undefined },
    "again",
  );
  expect(await command).toBe(`${SECRET}\n`);
  expect((await code).text).toContain(SECRET);
  expect(order[0]).toBe("bound");
  await unbind(client, {});
  expect(await run("echo done")).toBe("done\n");
});
