// Commands, files, terminals and git of E2B's published JavaScript client. Its arguments: the path of the package, and the
// options as JSON. With the option sandboxId, it uses that sandbox; otherwise it creates one, and kills it.
import assert from "node:assert/strict";
import process from "node:process";

const [, , path, text] = process.argv;
const { FileNotFoundError, FileType, Sandbox } = await import(path);
const options = JSON.parse(text);
const isOwn = options.sandboxId === undefined;
const sandbox = isOwn ? await Sandbox.create(options) : new Sandbox(options);
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
if (isOwn) {
  const running = await commands.run("sleep 1000", { background: true, timeoutMs: 0 });
  const ended = running.wait().then(() => "ended", (error) => error.message);
  assert.equal(await sandbox.kill(), true);
  assert.match(await ended, /killed or reached its end of life/);
  assert.equal(await sandbox.isRunning(), false);
}
process.stdout.write("done\n");
