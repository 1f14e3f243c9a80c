/** A deep agent with a scripted model, whose backend is a sandbox of E2B. deepagents has no such backend of its own. @module */
import { Sandbox } from "@e2b/code-interpreter";
import { fakeModel } from "@langchain/core/testing";
import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { BaseSandbox, createDeepAgent } from "deepagents";
import process from "node:process";
import { check, report } from "./checks.mjs";

const home = process.env.SANDBOX_HOME ?? "/home/user";
const folder = `${home}/project`;
const file = `${folder}/a.py`;

class E2BBackend extends BaseSandbox {
  constructor(sandbox) {
    super();
    this.sandbox = sandbox;
    this.id = sandbox.sandboxId;
  }

  async execute(command) {
    const { stdout, stderr, exitCode } = await this.sandbox.commands.run(command).catch((error) => {
      if (error.result === undefined) throw error;
      return error.result;
    });
    return { output: `${stdout}${stderr}`, exitCode, truncated: false };
  }

  uploadFiles(files) {
    return Promise.all(files.map(async ([path, content]) => {
      await this.sandbox.files.write(path, new Blob([content]));
      return { path, error: null };
    }));
  }

  downloadFiles(paths) {
    return Promise.all(paths.map(async (path) => {
      const content = await this.sandbox.files.read(path, { format: "bytes" }).catch(() => null);
      return { path, content, error: content === null ? "file_not_found" : null };
    }));
  }
}

const sandbox = await Sandbox.create();
const backend = new E2BBackend(sandbox);
await check("agent", async () => {
  const model = fakeModel()
    .respondWithTools([{ name: "write_file", args: { file_path: file, content: "print(6 * 7)\n" } }])
    .respondWithTools([{ name: "execute", args: { command: `python3 ${file}` } }])
    .respondWithTools([{ name: "edit_file", args: { file_path: file, old_string: "7", new_string: "8" } }])
    .respondWithTools([{ name: "read_file", args: { file_path: file } }])
    .respondWithTools([{ name: "grep", args: { pattern: "print", path: folder } }])
    .respond(new AIMessage("done"));
  const agent = createDeepAgent({ model, backend });
  const { messages } = await agent.invoke({ messages: [{ role: "user", content: "Compute." }] });
  const tools = messages.filter((message) => ToolMessage.isInstance(message)).map(({ text }) => text);
  return [
    tools.length,
    tools[1]?.includes("42"),
    tools[3]?.includes("6 * 8"),
    tools[4]?.includes("a.py") || tools[4],
    messages.at(-1).text,
  ];
}, [5, true, true, true, "done"]);
await check("list", async () => {
  return (await backend.ls(folder)).files?.some(({ path }) => path.endsWith("/a.py"));
}, true);
await check("files", async () => {
  const content = new Uint8Array([0, 255, 10]);
  await backend.uploadFiles([[`${home}/folder/x.bin`, content]]);
  const [there, none] = await backend.downloadFiles([`${home}/folder/x.bin`, `${home}/none`]);
  return [[...there.content], none.error];
}, [[0, 255, 10], "file_not_found"]);
await check("code", async () => (await sandbox.runCode("6 * 7")).text, "42");
await check("kill", () => sandbox.kill(), true);
report();
