/** A scripted model calls each tool once, and reads the results. @module */
import assert from "node:assert/strict";
import process from "node:process";
import { sandboxTools } from "@hookbox/ai-sdk";
import { generateText, isStepCount } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { SandboxClient } from "hookbox";

const [kubeconfig = "", routerUrl = ""] = process.argv.slice(2);
const sandbox = await new SandboxClient({ kubeconfig, routerUrl, routerPathPrefix: "/s" }).create({ image: "busybox" });
const calls = [
  ["writeFile", { path: "folder/a.txt", content: "one two" }],
  ["runCommand", { command: "wc -w < a.txt; exit 3", cwd: "folder" }],
  ["runCode", { code: "6 * 7", language: "javascript" }],
  ["readFile", { path: "folder/a.txt" }],
  ["listFiles", { path: "folder" }],
  ["readFile", { path: "none" }],
] as const;
const answers = [
  ...calls.map(([toolName, input], index) => ({
    content: [{ type: "tool-call" as const, toolCallId: `${index}`, toolName, input: JSON.stringify(input) }],
    finishReason: { unified: "tool-calls" as const, raw: undefined },
  })),
  { content: [{ type: "text" as const, text: "done" }], finishReason: { unified: "stop" as const, raw: undefined } },
].map((answer) => ({
  ...answer,
  usage: {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  },
  warnings: [],
}));
const model = new MockLanguageModelV4({ doGenerate: answers });
const { text, steps } = await generateText({
  model,
  prompt: "Count the words.",
  tools: sandboxTools(sandbox, { maxOutputLength: 100 }),
  stopWhen: isStepCount(20),
});
assert.equal(text, "done");
const results = steps.flatMap(({ content }) =>
  content.flatMap((part) =>
    part.type === "tool-result" ? [part.output] : part.type === "tool-error" ? [(part.error as Error).name] : []
  )
);
assert.deepEqual(results, [
  "Wrote folder/a.txt",
  { exitCode: 3, stdout: "2\n", stderr: "", truncated: false },
  { stdout: "", stderr: "", result: "42" },
  "one two",
  [{ name: "a.txt", type: "file", size: 7 }],
  "FileNotFoundError",
]);
await sandbox.kill();
process.stdout.write("ok\n");
