/** A scripted model uses the tools of a SandboxAgent; then the session is used alone. @module */
import assert from "node:assert/strict";
import process from "node:process";
import { HookboxClient, HookboxSession } from "@hookbox/openai-agents";
import { type Model, type ModelResponse, Runner, Usage } from "@openai/agents";
import { Manifest, SandboxAgent } from "@openai/agents/sandbox";
import { SandboxClient } from "hookbox";

const [kubeconfig = "", routerUrl = ""] = process.argv.slice(2);
const client = new SandboxClient({ kubeconfig, routerUrl, routerPathPrefix: "/s" });

type Call = Extract<ModelResponse["output"][number], { type: "function_call" | "apply_patch_call" }>;

const exec = (callId: string, args: object): Call => {
  return { type: "function_call", callId, name: "exec_command", status: "completed", arguments: JSON.stringify(args) };
};
const patch = (callId: string, operation: Extract<Call, { type: "apply_patch_call" }>["operation"]): Call => {
  return { type: "apply_patch_call", callId, status: "completed", operation };
};
const calls = [
  exec("1", { cmd: "cat notes/a.txt; echo $WHO; exit 3" }),
  exec("2", { cmd: "pwd", workdir: "/workspace/notes" }),
  patch("3", { type: "create_file", path: "b.txt", diff: "+first" }),
  patch("4", { type: "update_file", path: "notes/a.txt", diff: "-one two\n+three" }),
  patch("5", { type: "delete_file", path: "notes/none.txt" }),
  exec("6", { cmd: "cat b.txt notes/a.txt" }),
];
const results: string[] = [];
const model: Model = {
  getResponse({ input }): Promise<ModelResponse> {
    const isResult = ({ type }: { type?: string | undefined }) => /_(result|output)$/.test(type ?? "");
    const answered = typeof input === "string" ? [] : input.filter(isResult);
    results.splice(0, results.length, ...answered.map((item) => JSON.stringify(item)));
    const call = calls[answered.length];
    const content = [{ type: "output_text" as const, text: "done" }];
    const output = call ??
      { type: "message" as const, role: "assistant" as const, status: "completed" as const, content };
    return Promise.resolve({ usage: new Usage(), output: [output] });
  },
  async *getStreamedResponse() {},
};
const agent = new SandboxAgent({
  name: "coder",
  model,
  defaultManifest: {
    entries: { notes: { type: "dir", children: { "a.txt": { type: "file", content: "one two" } } } },
    environment: { WHO: "you" },
  },
});
const runner = new Runner({ tracingDisabled: true });
const { finalOutput } = await runner.run(agent, "Count the words.", {
  sandbox: { client: new HookboxClient({ client, image: "busybox" }) },
});
assert.equal(finalOutput, "done");
assert.match(results[0] ?? "", /exited with code 3.*one two.*you/s);
assert.match(results[1] ?? "", /\/notes/);
assert.match(results[4] ?? "", /nothing is there/);
assert.match(results[5] ?? "", /first.*three/s);
assert.deepEqual((await client.list().page()).items, [], "the agent deletes its sandbox");

const session = new HookboxSession(await client.create({ image: "busybox", name: "box" }), {
  manifest: new Manifest(),
});
await session.materializeEntry({ path: "/workspace/x/a.png", entry: { type: "file", content: "text" } });
assert.deepEqual(await session.listDir({ path: "/workspace/x" }), [
  { name: "a.png", path: "/workspace/x/a.png", type: "file" },
]);
assert.equal(new TextDecoder().decode(await session.readFile({ path: "x/a.png", maxBytes: 2 })), "te");
assert.deepEqual((await session.viewImage({ path: "x/a.png" })).image, {
  data: new TextEncoder().encode("text"),
  mediaType: "image/png",
});
assert.deepEqual([await session.pathExists("x/b"), await session.directoryExists("x")], [false, true]);
assert.equal((await session.exec({ cmd: "printf %100s x", maxOutputTokens: 5 })).output.includes("left out"), true);
assert.equal((await session.resolveExposedPort(3000)).port > 0, true);
await session.close();
process.stdout.write("ok\n");
