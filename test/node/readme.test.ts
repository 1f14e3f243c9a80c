/** The README's script, as somebody who has installed the package runs it: on Node and on Deno. @module */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { makeNamespace } from "../integration/namespace.ts";
import { BIN, packedProject, type Project } from "../integration/packed.ts";
import { untilFull } from "../integration/pools.ts";
import { needsRuntime } from "./runtimepods.ts";
import { hasRealNode, suite } from "../integration/suite.ts";

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
const [, SCRIPT = ""] = /## From TypeScript[\s\S]*?```ts\n([\s\S]*?)```/.exec(read("README.md")) ?? [];

/** Names and times differ from run to run. */
const masked = (text: string) =>
  text.replaceAll(/\b(sandbox|python)-[a-z0-9-]+/g, "NAME").replaceAll(/\d+ ms/g, "TIME").trim();

describe.runIf(hasRealNode)("the README's script", () => {
  let project: Project;

  beforeAll(async () => {
    await needsRuntime();
    project = await packedProject();
    writeFileSync(join(project.folder, "readme.ts"), SCRIPT);
  });

  test.for([
    { runtime: "Node", command: "node", args: ["readme.ts"] },
    { runtime: "Deno", command: "deno", args: ["run", "-A", "readme.ts"] },
  ])("runs on $runtime", async ({ command, args }) => {
    const ns = await makeNamespace();
    await ns.apply(...parseAllDocuments(read("examples/python.yaml")).map((document) => document.toJS()));
    await untilFull(ns, "python");
    const env = { KUBECONFIG: suite.kubeconfig, HOOKBOX_NAMESPACE: ns.name };
    const output = await project.run(join(BIN, command), args, env);
    expect(output.replace(/sandbox-[a-z0-9]{8}/, "NAME").trim().split("\n")).toEqual([
      "NAME says 42",
      "step 1",
      "step 2",
      "step 3",
      "read: <h1>kept</h1>",
      "port: <h1>kept</h1>",
      "after a rest: <h1>kept</h1>",
    ]);
    expect(await ns.list("sandboxclaims")).toEqual([]);
  });

  test("the ten lines of the first page print what the page shows", async () => {
    const [, code = "", shown = ""] =
      /```ts\n([\s\S]*?)```[\s\S]*?```text\n([\s\S]*?)```/.exec(read("docs/index.md")) ?? [];
    expect(code.trim().split("\n").filter((line) => line !== "").length).toBeLessThanOrEqual(10);
    expect(read("README.md")).toContain(code);
    expect(read("README.md")).toContain(shown);
    writeFileSync(join(project.folder, "first.ts"), code);
    const ns = await makeNamespace();
    await ns.apply(...parseAllDocuments(read("examples/python.yaml")).map((document) => document.toJS()));
    await untilFull(ns, "python");
    const env = { KUBECONFIG: suite.kubeconfig, HOOKBOX_NAMESPACE: ns.name };
    const output = await project.run(join(BIN, "node"), ["first.ts"], env);
    expect(masked(output)).toBe(masked(shown));
  });

  test("is short", () => {
    expect(SCRIPT.trim().split("\n").length).toBeLessThanOrEqual(25);
  });
});
