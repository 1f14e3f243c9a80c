// Commands, files, terminals and git of an older version of E2B's published JavaScript client. Its arguments: the path of
// the package, and the URL of the port.
import assert from "node:assert/strict";
import process from "node:process";

const [, , path, sandboxUrl] = process.argv;
const { FileNotFoundError, FileType, Sandbox } = await import(path);
const sandbox = new Sandbox({ sandboxId: "iabc", envdVersion: "0.6.13", sandboxUrl, apiKey: "e2b_00" });
const { commands, files, git, pty } = sandbox;
const bytes = (text) => new TextEncoder().encode(text);

async function until(holds) {
  for (let looks = 0; !holds(); looks++) {
    if (looks > 3000) throw new Error(`it never came to ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

assert.equal(await sandbox.isRunning(), true);
assert.deepEqual((await commands.run("echo out; echo err >&2")).stdout, "out\n");
await assert.rejects(commands.run("exit 3"), { exitCode: 3 });
const cat = await commands.run("cat", { background: true, stdin: true });
assert.deepEqual((await commands.list()).map(({ pid }) => pid), [cat.pid]);
await cat.disconnect();
const again = await commands.connect(cat.pid);
await commands.sendStdin(cat.pid, "in");
await commands.closeStdin(cat.pid);
assert.equal((await again.wait()).stdout, "in");
assert.equal(await commands.kill(cat.pid), false);

await files.write("dir/a", "1");
await files.write([{ path: "dir/b", data: "2" }, { path: "dir/c", data: new Blob(["3"]) }]);
assert.equal(await files.read("dir/b"), "2");
assert.deepEqual((await files.list("dir")).map(({ name, type }) => [name, type]), [
  ["a", FileType.FILE],
  ["b", FileType.FILE],
  ["c", FileType.FILE],
]);
assert.equal((await files.getInfo("dir/a")).size, 1);
assert.deepEqual([await files.makeDir("dir/sub"), await files.makeDir("dir/sub")], [true, false]);
await files.rename("dir/c", "dir/d");
await files.remove("dir/d");
assert.equal(await files.exists("dir/d"), false);
await assert.rejects(files.read("none"), FileNotFoundError);
const events = [];
const watch = await files.watchDir("dir", ({ type, name }) => void events.push(`${type} ${name}`), { recursive: true });
await files.write("dir/sub/new", "1");
await until(() => events.join() === "create sub/new,write sub/new");
await watch.stop();

const terminal = await pty.create({ cols: 80, rows: 24, onData: () => {} });
await pty.resize(terminal.pid, { cols: 90, rows: 30 });
await pty.sendInput(terminal.pid, bytes("exit 4\n"));
await assert.rejects(terminal.wait(), { exitCode: 4 });
await git.init("repository");
assert.equal((await git.status("repository")).isClean, true);
process.stdout.write("done\n");
