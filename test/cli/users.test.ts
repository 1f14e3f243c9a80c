/** `hookbox cp --user` and `hookbox mcp --user`, on a runtime as a process that lets callers choose a user. @module */
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { NOBODY, startWithUsers } from "../runtime/usersruntime.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { run } from "./fakecontext.ts";
import { type Agent, makeAgent, textOf } from "./mcp/stage.ts";
import { sandboxesAt } from "./sandboxcontext.ts";

const DONE = { code: 0, stdout: "", stderr: "" };

/** A sandbox of the runtime, if this machine's user can start it. */
async function start() {
  const runtime = await startWithUsers(...NOBODY);
  if (!runtime) return undefined;
  const { workdir, restPort } = runtime;
  writeFileSync(join(workdir, "secret"), "x", { mode: 0o600 });
  mkdirSync(join(workdir, "closed"), { mode: 0o700 });
  mkdirSync(join(workdir, "of-daemon"));
  const { cluster, setting } = await sandboxesAt(restPort);
  expect(await run("create --pool python --name mine", setting)).toMatchObject({ code: 0 });
  const ownerOf = (path: string) => statSync(join(workdir, path)).uid;
  return { ...runtime, cluster, setting, ownerOf };
}

test("cp has the rights of its user, and what it writes in the sandbox belongs to the user", async () => {
  const sandbox = await start();
  if (!sandbox) return;
  const { setting, ownerOf } = sandbox;
  const local = makeTempFolder();
  mkdirSync(join(local, "tree/deep"), { recursive: true });
  writeFileSync(join(local, "tree/deep/a"), "A");
  const cp = (...words: string[]) => run(["cp", ...words], setting);
  for (const [user, uid] of [["daemon", 1], ["root", 0], ["nobody", 65534]] as const) {
    expect(await cp("--user", user, join(local, "tree"), `mine:${user}`)).toEqual(DONE);
    expect(await run(["cp", "-u", user, "-", `mine:${user}/piped`], { ...setting, input: "P" })).toEqual(DONE);
    for (const path of ["", "deep", "deep/a", "piped"]) expect([user, ownerOf(join(user, path))]).toEqual([user, uid]);
  }
  expect(await cp(join(local, "tree"), "mine:default")).toEqual(DONE);
  expect(ownerOf("default/deep/a")).toBe(65534);

  const denied = expect.stringMatching(/not allowed|permission denied/i);
  const refused = { code: 1, stdout: "", stderr: denied };
  expect(await cp("-u", "daemon", "mine:secret", join(local, "got"))).toEqual(refused);
  expect(await cp("-u", "daemon", "mine:secret", "-")).toEqual(refused);
  expect(await cp("-u", "daemon", "mine:closed", local)).toEqual(refused);
  expect(await cp("-u", "daemon", join(local, "tree"), "mine:closed")).toEqual(refused);
  expect(await cp("-u", "daemon", join(local, "tree"), "mine:closed/new")).toEqual(refused);
  expect(await run(["cp", "-u", "daemon", "-", "mine:closed/new"], { ...setting, input: "P" })).toEqual(refused);
  expect(await cp("-u", "root", "mine:secret", join(local, "got"))).toEqual(DONE);
  expect(readFileSync(join(local, "got"), "utf8")).toBe("x");
  expect((await cp("-u", "bin", "mine:secret", local)).stderr).toContain(
    'Cannot act as user "bin": this sandbox allows only root, daemon, nobody',
  );
});

test("an MCP server with a user runs each tool as this user", async () => {
  const sandbox = await start();
  if (!sandbox) return;
  const { cluster, setting, ownerOf, workdir } = sandbox;
  const { client } = await setting.connect!({});
  const localRoot = makeTempFolder();
  writeFileSync(join(localRoot, "local"), "L");
  const agentAs = (user: string | undefined) =>
    makeAgent({ cluster, client }, {
      user,
      localRoot,
      selector: { "agents.x-k8s.io/created-by": "typescript-client" },
    });
  const daemon = await agentAs("daemon");
  const told = async (agent: Agent, name: string, input: object) =>
    textOf(await agent.call(name, { sandbox: "mine", ...input }));

  expect(await told(daemon, "execute_command", { command: "id -un; touch of-daemon/by-command" })).toContain("daemon");
  await told(await agentAs("root"), "execute_command", { command: "chmod 777 of-daemon" });
  await told(daemon, "execute_command", { command: "touch of-daemon/by-command" });
  await told(daemon, "start_command", { command: "touch of-daemon/by-start" });
  await told(daemon, "run_code", { code: "open('of-daemon/by-code', 'w').close()" });
  await told(daemon, "run_code", { code: "open('of-daemon/by-restarted', 'w').close()", restart: true });
  await told(daemon, "write_file", { path: "of-daemon/by-write", content: "" });
  await told(daemon, "upload_file", { path: "of-daemon/by-upload", content: "AA==" });
  await told(daemon, "upload_file", { path: "of-daemon/by-copy", localPath: "local" });
  for (const how of ["command", "start", "code", "restarted", "write", "upload", "copy"]) {
    expect([how, ownerOf(`of-daemon/by-${how}`)]).toEqual([how, 1]);
  }
  const denied = /not allowed|permission denied/i;
  expect(await told(daemon, "read_file", { path: "secret" })).toMatch(denied);
  expect(await told(daemon, "download_file", { path: "secret" })).toMatch(denied);
  expect(await told(daemon, "download_file", { path: "secret", localPath: "got" })).toMatch(denied);
  expect(await told(daemon, "list_files", { path: "closed" })).toMatch(denied);
  expect(await told(daemon, "file_exists", { path: "closed/a" })).toMatch(denied);

  const other = await agentAs(undefined);
  const started = await other.call("start_command", { sandbox: "mine", command: "exec sleep 1000" });
  const processId = started.structuredContent?.["processId"];
  expect(await told(daemon, "stop_command", { processId }), "of another user").toContain("does not run");
  expect(await told(other, "stop_command", { processId })).toContain("Stopped");
  expect(await told(await agentAs("bin"), "read_file", { path: "secret" })).toContain(
    'Cannot act as user "bin": this sandbox allows only root, daemon, nobody',
  );
  expect(statSync(workdir).uid).toBe(0);
});
