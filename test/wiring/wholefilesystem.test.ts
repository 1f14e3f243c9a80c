/** The whole file system behind requests: what is refused, what is left out, and what an archive cannot do. @module */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { Code, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, onTestFinished, test, vi } from "vitest";
import { encodeName } from "../../packages/process/filenames.ts";
import { createOpenRoot } from "../../packages/runtime/confine.ts";
import { createKernelCheck } from "../../packages/runtime/files/folder.ts";
import { ProcessService } from "../../packages/runtime-api/gen/process/v1/process_pb.ts";
import { FileWatcherService } from "../../packages/runtime-api/gen/watcher/v1/watcher_pb.ts";
import { createFS } from "../../packages/sdk/files/fs.ts";
import { createFiles } from "../../packages/sdk/files/files.ts";
import { createRuntimeClient } from "../../packages/sdk/runtime/runtimeclient.ts";
import { startMain } from "../mainprocess.ts";
import { formOf, send, startOpenRuntime } from "../runtime/servers.ts";
import { localTransport, OBJECT } from "../sdk/localtransport.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { FREE_PORTS } from "../runtime/freeports.ts";

const NOBODY = 65_534;

/** A runtime whose working directory is `work` in a folder of its own. */
async function aRuntime() {
  const around = makeTempFolder();
  chmodSync(around, 0o755);
  const at = (path: string) => join(around, path);
  mkdirSync(at("work"));
  const runtime = await startOpenRuntime(at("work"));
  onTestFinished(() => runtime.stop());
  const files = createFiles(createRuntimeClient(localTransport(runtime.restPort), OBJECT, undefined));
  const ask = async (method: string, endpoint: string, path: string, query = "", body: string | Uint8Array = "") => {
    const sent = method === "PUT" ? { body } : {};
    const { status, text } = await send(runtime.restPort, method, `/v1/${endpoint}/${encodeName(path)}${query}`, sent);
    return [status, text.startsWith('{"code"') ? JSON.parse(text).code : ""];
  };
  const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${runtime.grpcPort}` });
  return { at, runtime, files, ask, transport };
}

test("without the right to read or enter, every interface answers permission denied", async () => {
  const { at, ask, runtime, transport } = await aRuntime();
  mkdirSync(at("shut"));
  writeFileSync(at("shut/a"), "");
  writeFileSync(at("secret"), "");
  chmodSync(at("secret"), 0);
  chmodSync(at("shut"), 0);
  onTestFinished(() => chmodSync(at("shut"), 0o700));
  if (process.geteuid?.() === 0) {
    process.seteuid?.(NOBODY);
    onTestFinished(() => process.seteuid?.(0));
  }
  const denied = [403, "PERMISSION_DENIED"];
  for (const path of [at("secret"), at("shut/a"), at("shut")]) {
    expect(await ask("GET", "files", path), path).toEqual(denied);
    expect(await ask("GET", "archive", path), path).toEqual(denied);
  }
  expect(await ask("GET", "stat", at("shut/a"))).toEqual(denied);
  expect(await ask("GET", "watch", at("shut"))).toEqual(denied);
  expect(await ask("PUT", "files", at("new"), "", "x")).toEqual(denied);
  expect(await ask("PUT", "folders", at("new"))).toEqual(denied);
  expect((await send(runtime.port, "GET", `/download/${encodeName(at("secret"))}`)).status).toBe(403);
  const config = { command: ["true"], cwd: at("shut") };
  const execute = createClient(ProcessService, transport).execute({ config });
  await expect(execute).rejects.toMatchObject({ code: Code.PermissionDenied });
  const watch = async () => {
    for await (const _ of createClient(FileWatcherService, transport).watchDir({ path: at("shut") })) break;
  };
  await expect(watch()).rejects.toMatchObject({ code: Code.PermissionDenied });
});

test("/ is neither removed nor moved; the working directory loses only its content", async () => {
  const { at, ask, files } = await aRuntime();
  writeFileSync(at("work/a"), "");
  writeFileSync(at("sibling"), "");
  expect(await ask("DELETE", "files", "/", "?recursive=true")).toEqual([400, "INVALID_ARGUMENT"]);
  for (const path of [".", at("work"), "../work"]) {
    expect(await ask("DELETE", "files", path)).toEqual([400, "INVALID_ARGUMENT"]);
    await expect(files.rename(path, at("moved"))).rejects.toThrow("Cannot move the working directory");
  }
  await files.remove("../work", { recursive: true });
  expect([readdirSync(at("work")), existsSync(at("sibling"))]).toEqual([[], true]);
});

test("what a list, a description or a link says where a file is, finds that file", async () => {
  const { at, files } = await aRuntime();
  mkdirSync(at("work/sub"));
  for (const path of ["work/~", "work/a", "work/sub/~", "sibling"]) writeFileSync(at(path), path);
  execFileSync("ln", ["-s", at("sibling"), at("work/link")]);
  const listed = await files.list(".", { depth: 2 });
  expect(listed.map(({ path }) => path)).toEqual(["./~", "a", "link", "sub", "sub/~"]);
  expect(await createFS(files, OBJECT).readdir(".")).toEqual(["a", "link", "sub", "~"]);
  for (const { path, type, name, target } of listed) {
    if (type === "directory") continue;
    const { path: described } = await files.stat(path);
    const text = type === "symlink" ? "sibling" : path.startsWith("sub") ? "work/sub/~" : `work/${name}`;
    for (const one of [path, described, target ?? path]) expect(await files.read(one), one).toBe(text);
    expect(described).toBe(at(path.startsWith("sub") ? "work/sub/~" : `work/${name}`));
  }
  expect(listed.find(({ name }) => name === "link")?.target).toBe(at("sibling"));
});

test("a pipe or device is never replaced by a file", async () => {
  const { at, ask } = await aRuntime();
  execFileSync("mkfifo", [at("pipe")]);
  expect(await ask("PUT", "files", at("pipe"), "", "x")).toEqual([403, "PERMISSION_DENIED"]);
  expect(lstatSync(at("pipe")).isFIFO()).toBe(true);
  expect(readdirSync(at("."))).toEqual(["pipe", "work"]);
});

test("file systems of the kernel are listed and read, but nothing descends into them", async () => {
  const { ask, files } = await aRuntime();
  const isOfKernel = createKernelCheck();
  expect(await Promise.all(["/proc", "/sys", "/", "/tmp"].map((path) => isOfKernel(lstatSync(path).dev, path))))
    .toEqual([true, true, false, false]);
  const ofProc = await files.list("/proc");
  expect(ofProc.map(({ name }) => name)).toEqual(expect.arrayContaining(["self", "version", String(process.pid)]));
  expect((await files.list(`/proc/${process.pid}/fd`)).length).toBeGreaterThan(3);
  const twoLevels = (await files.list("/", { depth: 2 })).map(({ path }) => path);
  expect(twoLevels).toEqual(expect.arrayContaining(["/proc", "/etc/passwd"]));
  expect(twoLevels.filter((path) => /^\/(proc|sys)\//.test(path))).toEqual([]);
  expect(await ask("GET", "archive", "/proc")).toEqual([400, "INVALID_ARGUMENT"]);
  expect(await ask("GET", "archive", "/proc/version")).toEqual([200, ""]);
  const watched: string[] = [];
  for await (const event of files.watch("/", { recursive: true })) {
    watched.push(event.type === "incomplete" ? event.path : event.type);
    if (event.type !== "incomplete") break;
  }
  expect([watched.at(-1), watched.filter((path) => /^\/(proc|sys)/.test(path))]).toEqual(["ready", []]);
});

test("an archive may have symlinks to anywhere, but writes nothing outside of its folder", async () => {
  const { at, ask, files } = await aRuntime();
  const [from, outside] = [at("from"), at("outside")];
  mkdirSync(from);
  mkdirSync(outside);
  execFileSync("ln", ["-s", "/usr/bin/env", `${from}/tool`]);
  const tool = execFileSync("tar", ["-C", from, "-cf", "-", "."]);
  expect(await ask("PUT", "archive", "to", "", tool)).toEqual([200, ""]);
  expect(readlinkSync(at("work/to/tool"))).toBe("/usr/bin/env");
  // First a symlink, then a file below its name.
  execFileSync("ln", ["-s", outside, `${from}/link`]);
  mkdirSync(at("second/link"), { recursive: true });
  writeFileSync(at("second/link/x"), "");
  const tar = at("evil.tar");
  execFileSync("tar", ["-C", from, "-cf", tar, "link"]);
  execFileSync("tar", ["-C", at("second"), "-rf", tar, "link/x"]);
  expect(await ask("PUT", "archive", "evil", "", readFileSync(tar))).toEqual([403, "PERMISSION_DENIED"]);
  expect(readdirSync(outside)).toEqual([]);
  const { skipped } = await files.download("to", at("downloaded"));
  expect(skipped).toEqual([{ path: "tool", reason: expect.stringContaining("leads out") }]);
});

test("a path of port 8888 without its slash means the file that the published client asked for", async () => {
  const { at, runtime } = await aRuntime();
  const cut = (path: string) => path.slice(1);
  const upload = async (path: string) => (await send(runtime.port, "POST", "/upload", formOf(path, path))).status;
  const download = async (path: string) => (await send(runtime.port, "GET", `/download/${encodeName(path)}`)).text;
  writeFileSync(at("there"), "before");
  const inTmp = `${makeTempFolder()}/new`;
  for (const path of [at("there"), at("work/new"), inTmp]) {
    expect(await upload(cut(path)), path).toBe(200);
    expect(readFileSync(path, "utf8")).toBe(cut(path));
    expect(await download(cut(path))).toBe(cut(path));
  }
  // A folder of that name in the working directory comes first.
  mkdirSync(at("work/tmp"));
  expect(await upload("tmp/x")).toBe(200);
  expect(await upload("lib/x")).toBe(200);
  expect([existsSync(at("work/tmp/x")), existsSync(at("work/lib/x"))]).toEqual([true, true]);
});

test("on Deno, with the permissions of docs/runtime.md, all files can be read, and those of the working directory written", async () => {
  const workdir = makeTempFolder();
  const documented = /^deno run ((?:.*\\\n)*.*)$/m.exec(readFileSync("docs/runtime.md", "utf8"))?.[1] ?? "";
  const args = documented.replaceAll("/workspace", workdir).split(/[\s\\]+/);
  const ports = FREE_PORTS;
  const { said } = await startMain("deno", ["run", "--no-prompt", ...args, ...ports], "Listening");
  const [{ restPort }] = said("Listening") as [{ restPort: number }];
  const ask = async (method: string, path: string, body = "") =>
    (await send(restPort, method, `/v1/files/${encodeName(path)}`, method === "PUT" ? { body } : {})).status;
  expect(await ask("PUT", "folder/a", "x")).toBe(204);
  expect(readFileSync(join(workdir, "folder/a"), "utf8")).toBe("x");
  expect(await ask("GET", join(workdir, "folder/a"))).toBe(200);
  expect(await ask("GET", "/etc/passwd")).toBe(200);
  expect(await ask("PUT", `${workdir}-other`, "x")).toBe(403);
});

test("without --workdir, relative paths start where the process was started, but never at /", async () => {
  const [started, hasFolder] = [makeTempFolder(), existsSync("/workspace")];
  const at = vi.spyOn(process, "cwd").mockReturnValue(started);
  onTestFinished(() => at.mockRestore());
  expect((await createOpenRoot(undefined)).workdir).toBe(started);
  at.mockReturnValue("/");
  const { workdir, home } = await createOpenRoot(undefined);
  expect(workdir).toBe(existsSync("/workspace") ? "/workspace" : home);
  if (!hasFolder && existsSync("/workspace")) rmdirSync("/workspace");
});
