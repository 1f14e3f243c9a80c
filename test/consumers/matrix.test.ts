/** The results in `matrix/` are those of the consumers, and no others. @module */
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { fileOf, rowOf } from "./consumer.ts";
import { CONSUMERS } from "./consumers.ts";
import { checksOf } from "./deepagents.ts";
import { E2B_INTEGRATIONS } from "./e2bintegrations.ts";
import { partsOf } from "./goclient.ts";

test("each consumer has one result", () => {
  const files = globSync("*.json", { cwd: fileURLToPath(new URL("matrix", import.meta.url)) });
  expect(files.sort()).toEqual([...CONSUMERS, ...E2B_INTEGRATIONS].map(fileOf).sort());
});

test("a consumer that is not run says why", () => {
  const silent = CONSUMERS.filter(({ run, note }) => run === undefined && note === undefined);
  expect(silent).toEqual([]);
});

test("rowOf() groups failed checks by what came instead, without addresses", () => {
  const consumer = { client: "c", version: "1", way: "w", runs: "npm test" } as const;
  const error = (port: number) => `Cannot reach http://127.0.0.1:${port}/x: 401`;
  expect(rowOf(consumer, { create: "ok", read: error(1), write: error(2) })).toEqual({
    ...consumer,
    passed: 1,
    checks: 3,
    failed: { "Cannot reach URL 401": ["read", "write"] },
  });
  expect(rowOf(consumer, undefined)).toEqual(consumer);
});

test("checksOf() reads a JUnit report, and leaves skipped tests out", () => {
  const report = `<testsuite><testcase classname="T" name="a" time="0.1" /><testcase classname="T" name="b" time="0.1">
    <failure message="assert 1 == 2">trace</failure></testcase><testcase classname="T" name="c" time="0.1">
    <skipped message="no" /></testcase><testcase classname="T" name="d"><error message="x" /></testcase></testsuite>`;
  expect(checksOf(report, "")).toEqual({ a: "ok", b: "failed", d: "failed" });
  expect(() => checksOf("", "no module")).toThrow("No test has run\nno module");
});

test("partsOf() reads the output of a Go test, and leaves out a part whose parts say what failed", () => {
  const line = (result: string, name: string) =>
    `${"    ".repeat(name.split("/").length - 1)}--- ${result}: ${name} (0.10s)\n`;
  const output = "=== RUN   T\n    x_test.go:1: --- no\n" + line("FAIL", "T") + line("PASS", "T/a") +
    line("FAIL", "T/b") +
    line("PASS", "T/b/c") + line("SKIP", "U");
  expect(partsOf(output)).toEqual({ "T/a": "ok", "T/b": "failed", "T/b/c": "ok" });
  expect(() => partsOf(line("SKIP", "T"))).toThrow("No test has run\n--- SKIP: T");
});

test.for(["harbor", "openenv"])(
  "the package for %s has the version of the others, and names what it is tested with",
  (name) => {
    const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
    const { version } = JSON.parse(read("packages/integrations/mastra/package.json"));
    expect(read(`packages/integrations/${name}/pyproject.toml`)).toContain(`\nversion = "${version}"\n`);
    const readme = read(`packages/integrations/${name}/README.md`);
    for (const tested of [name, "k8s-agent-sandbox"]) {
      const [, pinned] =
        new RegExp(`^${tested}(?:\\[.*\\])?==(.+)$`, "m").exec(read(`test/consumers/requirements-${name}.txt`)) ?? [];
      expect(readme.replaceAll(/\s+/g, " ")).toContain(`\`${tested}\` ${pinned}`);
    }
  },
);
