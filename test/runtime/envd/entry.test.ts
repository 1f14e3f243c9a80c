/** What E2B's clients read about files, beyond what their published packages show. @module */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { expect, onTestFinished, test } from "vitest";
import { Filesystem, FileType } from "../../../packages/runtime-api/gen/e2b/filesystem_pb.ts";
import { makeTempFolder, useHome } from "../../tempfolder.ts";
import { startTestRuntime } from "../servers.ts";
import { clientOf, startSandbox } from "./sandbox.ts";

function clientAt(port: number) {
  const transport = createConnectTransport({ baseUrl: `http://127.0.0.1:${port}`, httpVersion: "1.1" });
  return createClient(Filesystem, transport);
}

test("permissions are printed as Go prints them", async () => {
  const { port, home } = await startSandbox();
  const at = (name: string) => join(home, name);
  writeFileSync(at("file"), "");
  mkdirSync(at("sticky"));
  chmodSync(at("file"), 0o4751);
  chmodSync(at("sticky"), 0o1777);
  execFileSync("mkfifo", ["-m", "600", at("pipe")]);
  symlinkSync("none", at("dangling"));
  symlinkSync("circle", at("circle"));
  const { stat } = clientAt(port);
  const seen = await Promise.all(
    ["file", "sticky", "pipe", "dangling", "circle", "/dev/null"].map(async (path) => (await stat({ path })).entry!),
  );
  expect(seen.map(({ permissions, type, mode }) => [permissions, type, mode])).toEqual([
    ["urwxr-x--x", FileType.FILE, 0o751],
    ["dtrwxrwxrwx", FileType.DIRECTORY, 0o777],
    ["prw-------", FileType.UNSPECIFIED, 0o600],
    ["Lrwxrwxrwx", FileType.UNSPECIFIED, 0o777],
    ["Lrwxrwxrwx", FileType.UNSPECIFIED, 0o777],
    ["Dcrw-rw-rw-", FileType.UNSPECIFIED, 0o666],
  ]);
  expect(seen.map(({ isSymlink }) => isSymlink)).toEqual([false, false, false, true, true, false]);
  expect(seen[3]).toMatchObject({ symlinkTarget: at("none"), name: "dangling" });
});

test("a list keeps links that lead nowhere, and leaves out the levels of file systems of the kernel", async () => {
  const { port, home } = await startSandbox();
  symlinkSync("none", join(home, "dangling"));
  const { listDir } = clientAt(port);
  expect((await listDir({ path: home })).entries.map(({ name }) => name)).toEqual(["dangling"]);
  const { entries } = await listDir({ path: "/", depth: 2 });
  const paths = entries.map(({ path }) => path);
  expect(paths).toContain("/proc");
  expect(paths.filter((path) => path.startsWith("/proc/"))).toEqual([]);
  expect(paths.filter((path) => path.startsWith("/usr/")).length).toBeGreaterThan(0);
});

test("a confined runtime serves its root alone", async () => {
  const root = makeTempFolder();
  useHome();
  const runtime = await startTestRuntime(root);
  onTestFinished(() => runtime.stop());
  const { files, commands } = clientOf(runtime.envdPort);
  expect(await files.write("a/b", "1")).toMatchObject({ path: join(root, "a/b") });
  expect(await files.read("~/a/b")).toBe("1");
  expect(await files.read(join(root, "a/b"))).toBe("1");
  // Other absolute paths are in the root, too.
  expect(await files.write("/c", "2")).toMatchObject({ path: join(root, "c") });
  expect((await files.list("/")).map(({ path }) => path)).toEqual([join(root, "a"), join(root, "c")]);
  symlinkSync("/etc/passwd", join(root, "out"));
  await expect(files.read("out")).rejects.toThrow("403");
  expect(await files.getInfo("out")).toMatchObject({ type: undefined });
  await expect(files.read("../secret")).rejects.toThrow("403");
  await expect(files.list("..")).rejects.toThrow("leads out of the root");
  expect((await commands.run("pwd; cat c")).stdout).toBe(`${root}\n2`);
  await expect(commands.run("true", { cwd: ".." })).rejects.toThrow("leads out of the root");
});
