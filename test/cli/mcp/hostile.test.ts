/** What a model reads of a sandbox that prints what terminals act on, and of one that lost its processes. @module */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readable } from "../../../packages/cli/mcp/output.ts";
import { startOpenRuntime } from "../../runtime/servers.ts";
import { makeTempFolder } from "../../tempfolder.ts";
import { sandboxesAt } from "../sandboxcontext.ts";
import { type Agent, makeAgent, makeStage, resultOf, textOf } from "./stage.ts";

const sandbox = "job";

/** An agent with a sandbox that serves all files, as sandboxes do by default. */
async function openSandbox(): Promise<{ agent: Agent; workdir: string }> {
  const workdir = makeTempFolder();
  const runtime = await startOpenRuntime(workdir);
  onTestFinished(() => runtime.stop());
  const { cluster, setting } = await sandboxesAt(runtime.restPort);
  const agent = await makeAgent({ cluster, client: (await setting.connect!({})).client });
  await agent.call("create_sandbox", { name: sandbox });
  return { agent, workdir };
}

test.for<[string, string, string]>([
  ["colours", "\x1b[1;31mred\x1b[0m and \x9b32mgreen", "red and green"],
  ["a title and a text for the clipboard", "a\x1b]0;title\x07b\x1b]52;c;aGk=\x1b\\c", "abc"],
  ["a device control string", "a\x1bPq#0\x1b\\b", "ab"],
  ["moves of the cursor and a reset", "\x1b[2J\x1b[H\x1bc\x1b(Btext", "text"],
  ["a sequence without an end", "a\x1b]0;title", "a0;title"],
  ["a progress bar", "get\n 1%\r 50%\r100%\r\ndone\r\n", "get\n100%\ndone\n"],
  ["an empty line that is written again", "\r\r\nx", "\nx"],
  ["other control characters", "a\0b\x08c\x7fd\x85e\tf\n", "a\ufffdb\ufffdc\ufffdd\ufffde\tf\n"],
  ["many beginnings", "\x1b[".repeat(100_000) + "\x1b]".repeat(100_000), ""],
  ["long lines", `${"x".repeat(500_000)}\r${"1;".repeat(100_000)}`, "1;".repeat(100_000)],
])("readable() shows %s as a person would read it", ([, output, shown]) => {
  const text = readable(output);
  if (shown.length > 0 || output.length < 1000) expect(text).toBe(shown);
  expect([...text].filter((character) => character === "\x1b" || character === "\x9b")).toEqual([]);
});

test("output reaches a model and its progress without what terminals act on, and as UTF-8", async () => {
  const { agent } = await openSandbox();
  const bytes = String.raw`b'\x1b[31mred\x1b[0m \x1b]52;c;aGk=\x07\xff\xfe\xc3(\xed\xa0\x80 1%\r100%\n'`;
  const command = `python3 -c "import sys; sys.stdout.buffer.write(${bytes})"`;
  const told: string[] = [];
  const ran = await agent.call("execute_command", { sandbox, command }, {
    onprogress: ({ message = "" }) => told.push(message),
  });
  expect(textOf(ran)).toMatch(/^exit code 0\n--- stdout\n100%$/);
  expect(told.join("")).toBe("100%\n");
  const code = `import sys\nfor out in sys.stdout, sys.stderr: out.buffer.write(${bytes})\n'\x1b[1mvalue'`;
  const shown = textOf(await agent.call("run_code", { sandbox, code }));
  expect(shown).toContain("--- stdout\n100%\n--- stderr\n100%");
  expect(shown).not.toContain("\x1b");
  const utf8 = await agent.call("execute_command", { sandbox, command: "printf '\\377\\376\\303(\\355\\240\\200'" });
  expect(textOf(utf8)).toMatch(/--- stdout\n\ufffd+\(\ufffd+$/);
});

test("a name with a line break is no second line of a list", async () => {
  const { agent, workdir } = await openSandbox();
  writeFileSync(join(workdir, "a\nb  7\x1b[2J"), "");
  const listed = textOf(await agent.call("list_files", { sandbox }));
  expect(listed).toBe(`${workdir}/a\\u000ab  7\\u001b[2J  0`);
});

test("paths in results are those that cat finds in each folder", async () => {
  const { agent, workdir } = await openSandbox();
  const written = await agent.call("write_file", { sandbox, path: "a/b.txt", content: "text" });
  expect(textOf(written)).toBe(`Wrote 4 bytes to ${workdir}/a/b.txt.`);
  const uploaded = await agent.call("upload_file", { sandbox, path: "./a/../c", content: "AAAA" });
  expect(uploaded.structuredContent).toMatchObject({ path: `${workdir}/c` });
  expect(textOf(await agent.call("list_files", { sandbox, path: "a" }))).toBe(`${workdir}/a/b.txt  4`);
  expect(textOf(await agent.call("file_exists", { sandbox, path: "a" }))).toMatch(`${workdir}/a is a directory`);
  const path = String(written.structuredContent?.["path"]);
  const ran = await agent.call("execute_command", { sandbox, command: `cat ${path}`, cwd: "/" });
  expect(textOf(ran)).toBe("exit code 0\n--- stdout\ntext");
});

test("of a large tree, list_files reads only as much as it shows: what is near comes first", async () => {
  const { agent, workdir } = await openSandbox();
  for (let folder = 10; folder < 60; folder++) {
    mkdirSync(join(workdir, `d${folder}/deep`), { recursive: true });
    writeFileSync(join(workdir, `d${folder}/deep/file`), "");
  }
  const listed = await agent.call("list_files", { sandbox, depth: 20, maxEntries: 60 });
  const lines = textOf(listed).split("\n");
  expect(lines).toHaveLength(61);
  expect(lines.filter((line) => /d\d\d\/$/.test(line))).toHaveLength(49);
  expect(lines.slice(0, 2)).toEqual([`${workdir}/d10/`, `${workdir}/d10/deep/`]);
  expect(lines.at(-1)).toBe("[There are more entries: raise maxEntries, or list a folder further down]");
  const whole = await agent.call("list_files", { sandbox, depth: 20, maxEntries: 150 });
  expect(resultOf(whole)).toEqual({ path: workdir, truncated: false });
});

test("a file in base64 is small unless the agent asks for more", async () => {
  const { agent } = await openSandbox();
  await agent.call("execute_command", { sandbox, command: "head -c 100000 /dev/zero >zeros" });
  const refused = await agent.call("download_file", { sandbox, path: "zeros" });
  expect(textOf(refused)).toMatch(/^Cannot return "zeros": it is larger than 65536 bytes\. .* raise maxBytes/);
  const whole = await agent.call("download_file", { sandbox, path: "zeros", maxBytes: 100_000 });
  expect(resultOf(whole)).toEqual({ path: "zeros", bytes: 100_000, files: 1 });
});

test("the first output after a suspension reports that processes and variables are lost", async () => {
  const stage = await makeStage();
  const agent = await makeAgent(stage);
  await agent.call("create_sandbox", { name: sandbox });
  await agent.call("suspend_sandbox", { sandbox });
  await agent.call("write_file", { sandbox, path: "a", content: "" });
  await stage.client.resume(sandbox);
  const ran = await agent.call("run_code", { sandbox, code: "1" });
  expect(textOf(ran)).toMatch(/^\[The sandbox was suspended and has been resumed: .* are lost\.\]\n1$/);
  expect(textOf(await agent.call("run_code", { sandbox, code: "1" }))).toBe("1");
});

test.for(["pool", "template"])("a %s that does not exist: the error names the pools", async (what) => {
  const agent = await makeAgent(await makeStage());
  const failed = await agent.call("create_sandbox", { [what]: "none" });
  expect(textOf(failed)).toBe(
    `Cannot create a sandbox: there is no ${what} "none". Name one of these pools: python.`,
  );
  expect(failed.isError).toBe(true);
});
