/** What sandboxes and tenants write reaches no terminal as an order: names, errors, messages, in every form of output. @module */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pack } from "tar-stream";
import { expect, onTestFinished, test } from "vitest";
import { plain } from "../../packages/cli/terminal.ts";
import { createRedraw } from "../../packages/cli/commands/top.ts";
import { SandboxClient } from "../../packages/sdk/client.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { fakeApi, fakeContext, listOf, run, type Setting } from "./fakecontext.ts";

/** Writes the clipboard, clears the screen, begins a colour in one byte of C1, rubs out, turns the direction of text. */
const ORDERS = "a\x1b]52;c;eA==\x07\x1b[2J\x9b31m\x7f\r\u202e\u2066b";
const SHOWN = "a\\u001b]52;c;eA==\\u0007\\u001b[2J\\u009b31m\\u007f\\u000d\\u202e\\u2066b";
// deno-lint-ignore no-control-regex -- those are what must not get through
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/;

const ENTRY = { name: "d", path: "d", type: "directory", size: 0, mode: "0755", modified_at: "2026-01-01T00:00:00Z" };

/** A sandbox that has orders wherever a name or a word can stand. */
async function hostile(): Promise<Setting> {
  const json = (response: ServerResponse, value: unknown) => {
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify(value));
  };
  const server = createServer(({ url = "" }, response) => {
    if (url.startsWith("/v1/stat/refused")) {
      response.statusCode = 500;
      return json(response, { code: "INTERNAL", message: ORDERS });
    }
    if (url.startsWith("/v1/stat/")) return json(response, ENTRY);
    if (url.startsWith("/v1/files/")) {
      return json(response, { entries: [ORDERS, "two\nlines"].map((name) => ({ ...ENTRY, name, target: ORDERS })) });
    }
    const tar = pack();
    tar.entry({ name: ORDERS, type: "symlink", linkname: "/etc" });
    tar.finalize();
    return tar.pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const routerUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new SandboxClient({ routerUrl, namespace: "default", kubeconfig: "/nonexistent" });
  const transportTo = () => Promise.reject(new Error("the test has none"));
  return { connect: () => Promise.resolve({ client, way: "router", transportTo }) };
}

test.for([false, true])("names and words of a sandbox, on a terminal: %s", async (isTTY) => {
  const setting = { ...await hostile(), isTTY };
  const to = join(makeTempFolder(), "to");
  const copied = await run(["cp", "demo:d", to], setting);
  expect(copied.stderr).toContain(`Skipped ${SHOWN}: it leads out of the folder`);
  const refused = await run(["ls", "demo:refused"], setting);
  expect(refused.stderr).toContain(SHOWN);
  const short = await run(["ls", "demo:d"], setting);
  expect(short.stdout).toBe(`${SHOWN}/\ntwo\\u000alines/\n`);
  const long = await run(["ls", "-l", "demo:d"], setting);
  expect(long.stdout.trimEnd().split("\n")).toHaveLength(3);
  const yaml = await run(["ls", "demo:d", "-o", "yaml"], setting);
  const found = await run(["ls", "demo:d", "-o", "json"], setting);
  expect(JSON.parse(found.stdout)[0].name).toBe(ORDERS);
  for (const { stdout, stderr } of [copied, refused, short, long, yaml, found]) {
    expect(stdout + stderr).not.toMatch(CONTROLS);
  }
});

test("messages of objects, which tenants write; our own colours stay", async () => {
  const lastTransitionTime = "2026-11-21T11:00:00Z";
  const conditions = [{ type: "Ready", status: "False", reason: "Custom", message: ORDERS, lastTransitionTime }];
  const sandbox = {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name: "demo", namespace: "default", uid: "u", generation: 1, annotations: { note: ORDERS } },
    spec: { podTemplate: { spec: { containers: [{ name: ORDERS, image: ORDERS }] } } },
    status: { conditions },
  };
  const sandboxes = "GET /apis/agents.x-k8s.io/v1beta1/namespaces/default/sandboxes";
  const api = fakeApi({
    [sandboxes]: listOf("agents.x-k8s.io/v1beta1", "Sandbox", sandbox),
    [`${sandboxes}/demo`]: sandbox,
    "GET /api/v1/namespaces/default/pods": listOf("v1", "Pod"),
    "GET /api/v1/namespaces/default/events": listOf("v1", "Event"),
  });
  const lines = ["get sandboxes", "get sandboxes -o wide", "get sandboxes -o yaml", "get sandboxes -o json"];
  for (const line of lines) expect((await run(line, { api })).stdout, line).not.toMatch(CONTROLS);
  const { stdout } = await run("why sandbox/demo", { api, isTTY: true });
  expect(stdout).toContain("\x1b[");
  // deno-lint-ignore no-control-regex -- our own colours
  expect(stdout.replace(/\x1b\[\d+m/g, "")).not.toMatch(CONTROLS);
  expect(stdout).toContain(SHOWN);
});

test("what is drawn anew has no orders but those that draw it", () => {
  const { context, written } = fakeContext({ isTTY: true });
  createRedraw(context)(`${ORDERS}\n`);
  expect(written.stdout).toBe(`\r${SHOWN}\x1b[K\n\x1b[J`);
});

test("newlines and tabs are text, and so are the newlines of other systems", () => {
  expect(plain("a\tb\r\nc\nd")).toBe("a\tb\nc\nd");
});
