/** Tools and resources by the MCP SDK's own client, on a real runtime. @module */
import { expect, test } from "vitest";
import { makeAgent, makeStage, textOf } from "./stage.ts";

test("a sandbox's life: create, run, write, read, list, delete", async () => {
  const stage = await makeStage();
  const { call } = await makeAgent(stage);
  const created = await call("create_sandbox", { name: "job" });
  expect(created.structuredContent).toMatchObject({ name: "job", state: "Ready", pool: "python", isOwn: true });
  const ran = await call("execute_command", { sandbox: "job", command: "echo out; echo err >&2; exit 3" });
  expect(ran).toEqual({
    content: ["exit code 3", "--- stdout\nout", "--- stderr\nerr"].map((text) => ({ type: "text", text })),
    _meta: { result: { exitCode: 3, truncated: false, timedOut: false } },
  });
  expect(textOf(await call("write_file", { sandbox: "job", path: "a/b.txt", content: "grüße" }))).toBe(
    "Wrote 7 bytes to a/b.txt.",
  );
  expect(textOf(await call("read_file", { sandbox: "job", path: "a/b.txt" }))).toBe("grüße");
  expect(textOf(await call("list_files", { sandbox: "job", depth: 2 }))).toBe("a/\na/b.txt  7");
  expect((await call("delete_sandbox", { sandbox: "job" })).structuredContent).toEqual({ deleted: true });
  expect((await call("list_sandboxes")).structuredContent).toEqual({ sandboxes: [] });
});
