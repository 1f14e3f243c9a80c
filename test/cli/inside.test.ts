/** Commands that work inside of sandboxes: a cluster in memory, and a real runtime behind it. @module */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Interruption } from "../../packages/cli/failure.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { NOW, run } from "./fakecontext.ts";
import { someSandboxes } from "./sandboxcontext.ts";
import { eventually, until } from "../eventually.ts";
import { holdTimers } from "../hurry.ts";

const MINE = "create --pool python --name mine";

test("exec passes output, input and the exit code on", async () => {
  const { setting } = await someSandboxes({ "sub/a.txt": "A" });
  await run(MINE, setting);
  expect(await run(["exec", "mine", "--", "sh", "-c", "echo out; echo err >&2; exit 7"], setting)).toEqual({
    code: 7,
    stdout: "out\n",
    stderr: "err\n",
  });
  expect(await run("exec mine -C sub -e X=1 -- sh -c ls;echo,$X", setting)).toMatchObject({ code: 127 });
  expect(await run(["exec", "mine", "-C", "sub", "-e", "X=1", "--", "sh", "-c", "ls; echo $X"], setting)).toMatchObject(
    {
      stdout: "a.txt\n1\n",
    },
  );
  expect(await run("exec -i mine -- wc -c", { ...setting, input: "grüße" })).toMatchObject({ code: 0, stdout: "7\n" });
  expect(await run("exec mine -- cat", { ...setting, input: "ignored" })).toMatchObject({ code: 0, stdout: "" });
  expect(await run(["exec", "mine", "--", "sh", "-c", "kill -9 $$"], setting)).toMatchObject({ code: 137 });
  const own = userInfo().username;
  expect(await run(["exec", "mine", "--user", own, "--", "id", "-un"], setting)).toMatchObject({ stdout: `${own}\n` });
  expect(await run(["exec", "mine", "-u", "other", "--", "id"], setting)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Cannot act as user "other": callers may not choose a user here'),
  });
});

test("exec ends with 124 after --timeout, with 130 when interrupted, and leaves nothing running", async () => {
  const { setting, root } = await someSandboxes();
  await run(MINE, setting);
  const script = (file: string) => `touch ${file}; echo; sleep 600; touch never`;
  const begun = (file: string) => until(() => existsSync(join(root, file)));
  const pass = holdTimers();
  const late = run(["exec", "mine", "--timeout", "200ms", "--", "sh", "-c", script("late")], setting);
  await begun("late");
  pass(200);
  expect(await late).toMatchObject({ code: 124, stderr: expect.stringMatching(/killed after 200 ms\n/) });
  const stop = new AbortController();
  const running = run(["exec", "mine", "--", "sh", "-c", script("later")], { ...setting, signal: stop.signal });
  await begun("later");
  stop.abort(new Interruption());
  expect(await running).toMatchObject({ code: 130, stderr: "" });
  await eventually(async () => (await run("exec mine -- pgrep -af touch.never", setting))).toMatchObject({ code: 1 });
  expect(existsSync(join(root, "never"))).toBe(false);
});

test("exec -t without a terminal goes on without, and says so", async () => {
  const { setting } = await someSandboxes();
  await run(MINE, setting);
  expect(await run("exec -it mine", { ...setting, input: "echo $((6 * 7)); exit 3\n" })).toEqual({
    code: 3,
    stdout: "42\n",
    stderr: "Cannot use -t: the input is not a terminal. The command runs without one.\n",
  });
});

test("exec of what is not there", async () => {
  const { setting } = await someSandboxes();
  expect(await run("exec none -- ls", setting)).toEqual({
    code: 1,
    stdout: "",
    stderr: "Cannot find sandbox default/none: there is neither a claim nor a Sandbox of that name\n" +
      "`hookbox get` lists those that there are.\n",
  });
  expect(await run("exec none ls -l", setting)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^Unknown option '-l'/),
  });
});

test("run makes a sandbox, runs, and deletes it, whatever the code", async () => {
  const { setting, claims, cluster } = await someSandboxes();
  const ran = await run([
    "run",
    "--pool",
    "python",
    "-e",
    "X=5",
    "--timeout",
    "1m",
    "--",
    "sh",
    "-c",
    "echo $X; exit 4",
  ], setting);
  expect({ ...ran, claims: claims() }).toEqual({ code: 4, stdout: "5\n", stderr: "", claims: [] });
  const kept = await run("run --pool python --keep --name k -- true", setting);
  expect({ ...kept, claims: claims() }).toEqual({ code: 0, stdout: "", stderr: "Kept: k\n", claims: ["k"] });
  expect(cluster.get("SandboxClaim", "k")?.spec.env, "the command's, not the sandbox's").toBeUndefined();
});

test("run that is interrupted deletes its sandbox", async () => {
  const { setting, claims } = await someSandboxes();
  const stop = new AbortController();
  const running = run("run --pool python -- sleep 60", { ...setting, signal: stop.signal });
  await until(() => claims().length > 0);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(claims()).toHaveLength(1);
  stop.abort(new Interruption());
  expect(await running).toEqual({ code: 130, stdout: "", stderr: "" });
  expect(claims()).toEqual([]);
});

test("ls lists folders and describes files", async () => {
  const { setting } = await someSandboxes({ "sub/a.txt": "A", ".hidden": "", "b b": "BB" });
  await run(MINE, setting);
  expect(await run("ls mine", setting)).toEqual({ code: 0, stdout: "b b\nsub/\n", stderr: "" });
  expect((await run("ls -a mine:", setting)).stdout).toBe(".hidden\nb b\nsub/\n");
  expect((await run("ls -l mine:sub", setting)).stdout).toMatch(
    /^MODE +SIZE +MODIFIED +NAME\n-rw-r--r-- +1 +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +a.txt\n$/,
  );
  expect((await run("ls mine:sub/a.txt", setting)).stdout).toBe("a.txt\n");
  expect(JSON.parse((await run("ls default/mine:/sub -o json", setting)).stdout)).toMatchObject([{
    name: "a.txt",
    size: 1,
  }]);
  expect(await run("ls mine:none", setting)).toMatchObject({ code: 1, stdout: "" });
});

test("cp writes only into the folder that it was given", async () => {
  const { setting } = await someSandboxes({ "work/a.txt": "a" });
  await run(MINE, setting);
  const local = makeTempFolder();
  mkdirSync(join(local, "to"));
  const copied = await run(["cp", "mine:work/..", join(local, "to")], setting);
  expect(copied).toMatchObject({ code: 2, stderr: expect.stringContaining("its path ends with no name for it") });
  expect(readdirSync(local)).toEqual(["to"]);
  expect((await run(["cp", "mine:work/.", join(local, "to")], setting)).code).toBe(0);
  expect(readdirSync(join(local, "to"))).toEqual(["a.txt"]);
});

test("cp goes both ways, into folders that are there, and through pipes", async () => {
  const { setting, root } = await someSandboxes({ "there/x": "X" });
  await run(MINE, setting);
  const local = makeTempFolder();
  writeFileSync(join(local, "a.txt"), "A", { mode: 0o640 });
  mkdirSync(join(local, "tree", "deep"), { recursive: true });
  writeFileSync(join(local, "tree", "deep", "b.txt"), "B");
  const cp = (...paths: string[]) => run(["cp", ...paths], setting);
  const done = { code: 0, stdout: "", stderr: "" };
  expect(await cp(join(local, "a.txt"), "mine:new.txt")).toEqual(done);
  expect(await cp(join(local, "a.txt"), "mine:there")).toEqual(done);
  expect(await cp(join(local, "a.txt"), "mine:")).toEqual(done);
  expect(await cp(join(local, "tree"), "mine:there/")).toEqual(done);
  expect(await cp(join(local, "tree"), "mine:other")).toEqual(done);
  const read = (path: string) => readFileSync(join(root, path), "utf8");
  expect(["new.txt", "there/a.txt", "a.txt", "there/tree/deep/b.txt", "other/deep/b.txt"].map(read).join("")).toBe(
    "AAABB",
  );
  expect(statSync(join(root, "new.txt")).mode & 0o777).toBe(0o640);
  expect(await cp("mine:there", local)).toEqual(done);
  expect(await cp("mine:there/x", join(local, "y"))).toEqual(done);
  expect(readFileSync(join(local, "there", "tree", "deep", "b.txt"), "utf8") + readFileSync(join(local, "y"), "utf8"))
    .toBe("BX");
  expect(await cp("mine:there/x", "-")).toEqual({ ...done, stdout: "X" });
  expect(await run(["cp", "-", "mine:piped"], { ...setting, input: "P" })).toEqual(done);
  expect(read("piped")).toBe("P");
  expect(await cp(join(local, "none"), "mine:x")).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/there is no such file\n$/),
  });
});

test("top takes the cluster's metrics, else the runtimes', and says which", async () => {
  const { setting, cluster } = await someSandboxes();
  await run(MINE, setting);
  const own = await run("top", setting);
  expect(own).toMatchObject({ code: 0, stderr: "Source: the sandboxes' runtimes.\n" });
  expect(own.stdout).toMatch(
    /^NAME +STATUS +SANDBOX +CPU\(CORES\) +MEMORY +LIMIT\nmine +Running +python-\S+ +\d+m +\d+Mi +\S+\n$/,
  );
  const { api } = setting;
  const sandbox = cluster.get("SandboxClaim", "mine")?.status.sandbox.name;
  const items: object[] = [{
    metadata: { namespace: "default", name: sandbox },
    containers: [{ usage: { cpu: "1500000n", memory: "2048Ki" } }],
  }];
  const measured = {
    ...setting,
    api: {
      ...api as NonNullable<typeof api>,
      send: async (request: Parameters<NonNullable<typeof api>["send"]>[0]) => {
        if (request.path.startsWith("/apis/metrics.k8s.io/")) return { status: 200, body: { items } };
        return await (api as NonNullable<typeof api>).send(request);
      },
    },
  };
  const theirs = await run("top mine", measured);
  expect(theirs).toMatchObject({ code: 0, stderr: "Source: the cluster's metrics.\n" });
  expect(theirs.stdout).toMatch(/\nmine +Running +python-\S+ +2m +2Mi +<none>\n$/);
  items.pop();
  const unknown = await run("top mine", measured);
  expect(unknown.stdout).toMatch(/ LIMIT +PROBLEM\nmine +Running +python-\S+ +(<unknown> +){3}no metrics yet\n$/);
});

test("top -w shows it again and again until it is interrupted; -o and an unknown order make no sense", async () => {
  const { setting } = await someSandboxes();
  await run(MINE, setting);
  const stop = new AbortController();
  let looks = 0;
  const now = () => {
    if (++looks === 3) stop.abort(new Interruption());
    return NOW;
  };
  const watched = await run("top -w --interval 1ms --sort-by cpu", { ...setting, now, signal: stop.signal });
  expect(watched).toMatchObject({ code: 130, stderr: "" });
  expect(watched.stdout.match(/^2026-\S+Z\nSource: the sandboxes' runtimes\.\nNAME .*\nmine /gm)).toHaveLength(3);
  await run("suspend mine", setting);
  expect((await run("top", setting)).stdout).toMatch(/\nmine +Suspended +python-\S+ +<none> +<none> +<none>\n$/);
  expect(JSON.parse((await run("top -o json", setting)).stdout)).toMatchObject([{
    name: "mine",
    status: { name: "Suspended" },
  }]);
  expect((await run("top -w -o json", setting)).stderr).toBe("Cannot watch as json: leave out -w or -o\n");
  expect((await run("top --sort-by age", setting)).stderr).toBe(
    'Cannot sort by "age": --sort-by takes name, status, cpu, memory\n',
  );
});

test("jobs lists commands and what they leave behind", async () => {
  const { setting } = await someSandboxes();
  await run(MINE, setting);
  expect(await run("jobs mine", setting)).toEqual({ code: 0, stdout: "", stderr: "Nothing runs in mine.\n" });
  const left = "sleep 301 > /dev/null 2>&1 & echo $!";
  const pid = (await run(["exec", "mine", "--", "sh", "-c", left], setting)).stdout.trim();
  // Between fork and exec, the job is still the shell.
  await eventually(async () => (await run("jobs mine", setting)).stdout).toMatch(
    new RegExp(`^PID +KIND +STARTED +CPU +COMMAND\n${pid} +job +[-0-9]+ [:0-9]+ +0.0s +sleep 301\n$`),
  );
  const { stdout: json } = await run("jobs mine -o json", setting);
  expect(JSON.parse(json)).toMatchObject([{ kind: "job", command: ["sleep", "301"], processId: Number(pid) }]);
  const age = Date.now() - Date.parse(JSON.parse(json)[0].startedAt);
  expect(Math.abs(age), "it started a moment ago, and not at the boot of the machine").toBeLessThan(60_000);
  await run(["exec", "mine", "--", "kill", pid], setting);
  await eventually(async () => (await run("jobs mine", setting)).stdout).toBe("");
});
