/** Starting and ending Metacontroller as a process: the fake one with an empty server, and wrong binaries. @module */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startMetacontroller } from "../../../dev/metacontroller/start.ts";

let folder = "";
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "hookbox-start-"))));
afterEach(() => rmSync(folder, { recursive: true }));

const logFile = () => join(folder, "log");
const progress: string[] = [];
const options = (binary: string) => ({
  kubeconfig: join(folder, "kubeconfig"),
  logFile: logFile(),
  progress: (line: string) => void progress.push(line),
  binary,
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** A server with the kinds of Metacontroller and no object; its kubeconfig is in the folder. */
async function serveNothing(): Promise<() => void> {
  const kinds = ["CompositeController", "DecoratorController"].map((kind) => ({
    name: `${kind.toLowerCase()}s`,
    kind,
    namespaced: false,
  }));
  const server = createServer((request, response) => {
    const watching = request.url?.includes("watch=true");
    const list = request.url?.includes("limit=");
    if (!watching) {
      response.end(JSON.stringify(list ? { metadata: { resourceVersion: "1" }, items: [] } : { resources: kinds }));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const cluster = { server: `http://127.0.0.1:${port}`, "insecure-skip-tls-verify": true };
  writeFileSync(
    join(folder, "kubeconfig"),
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "c",
      clusters: [{ name: "c", cluster }],
      users: [{ name: "u", user: { token: "t" } }],
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    }),
  );
  return () => {
    server.closeAllConnections();
    server.close();
  };
}

test("the fake Metacontroller says what it is, is up when its caches are filled, and ends on SIGTERM", async () => {
  const stopServer = await serveNothing();
  const engine = await startMetacontroller(options(""));
  expect(engine.kind).toBe("fake");
  expect(engine.version).toMatch(/^\d+\.\d+\.\d+$/);
  expect(isRunning(engine.pid)).toBe(true);
  const [first = ""] = readFileSync(logFile(), "utf8").split("\n");
  expect(JSON.parse(first)).toMatchObject({
    message: expect.stringMatching(/fake Metacontroller, not Metacontroller/),
    workers: 20,
  });
  await engine.stop();
  expect(isRunning(engine.pid)).toBe(false);
  expect(readFileSync(logFile(), "utf8")).toMatch(/"message":"stopping","signal":"SIGTERM"/);
  await engine.stop();
  stopServer();
});

test("a binary is given its flags, asked whether it is up, and its version", async () => {
  const binary = join(folder, "metacontroller");
  writeFileSync(
    binary,
    `#!${process.execPath}
    const flag = (name) => process.argv.find((arg) => arg.startsWith(name + "=")).slice(name.length + 1);
    console.log(JSON.stringify({ version: "v4.17.2", flags: process.argv.slice(2) }));
    const [host, port] = flag("--health-probe-bind-address").split(":");
    let asked = 0;
    require("node:http").createServer((q, r) => { r.statusCode = q.url === "/readyz" && ++asked > 2 ? 200 : 503; r.end(); }).listen(port, host);
  `,
  );
  chmodSync(binary, 0o755);
  const engine = await startMetacontroller({ ...options(binary), workers: 7 });
  expect(engine).toMatchObject({ kind: "real", version: "v4.17.2" });
  const { flags } = JSON.parse(readFileSync(logFile(), "utf8"));
  expect(flags).toEqual(
    expect.arrayContaining([`--kubeconfig=${join(folder, "kubeconfig")}`, "--workers=7", "--client-go-qps=1000"]),
  );
  await engine.stop();
  expect(isRunning(engine.pid)).toBe(false);
});

test("one that ends says why, with the end of its log", async () => {
  const binary = join(folder, "broken");
  writeFileSync(binary, "#!/bin/sh\necho no such cluster\nexit 3\n");
  chmodSync(binary, 0o755);
  await expect(startMetacontroller(options(binary))).rejects.toThrow(
    /^Cannot start real Metacontroller: it ended with code 3\nno such cluster/,
  );
  await expect(startMetacontroller(options(join(folder, "absent")))).rejects.toThrow(
    /^Cannot start real Metacontroller: spawn .*ENOENT/,
  );
});
