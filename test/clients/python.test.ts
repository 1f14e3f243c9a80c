/** The environment that the published client runs in. @module */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";
import { expect, test } from "vitest";
import { type BasePython, CLIENT, DEEPAGENTS, E2B, environmentName, OLD_E2B, pythonWith, serves } from "./python.ts";

const PYTHON: BasePython = { executable: "/bin/python3", version: [3, 12, 1], prefix: "/usr", hasVenv: true };

test.for([
  { name: "the oldest that will do", change: { version: [3, 11, 0] }, want: true },
  { name: "older than the client", change: { version: [3, 10, 12] }, want: false },
  { name: "Debian's without python3-venv", change: { hasVenv: false }, want: false },
])("serves(): $name", ({ change, want }) => {
  expect(serves({ ...PYTHON, ...change } as BasePython)).toBe(want);
});

test("environmentName() changes with the requirements, the version and the installation of Python", () => {
  const names = [
    environmentName("a==1", PYTHON),
    environmentName("a==2", PYTHON),
    environmentName("a==1", { ...PYTHON, version: [3, 12, 2] }),
    environmentName("a==1", { ...PYTHON, prefix: "/opt/python" }),
  ];
  expect(new Set(names).size).toBe(names.length);
  expect(environmentName("a==1", { ...PYTHON, executable: "/usr/bin/python3" })).toBe(names[0]);
});

test.for([
  { ...CLIENT, main: "k8s-agent-sandbox==1.0.8" },
  { ...DEEPAGENTS, main: "k8s-agent-sandbox==1.0.8" },
  { ...E2B, main: "e2b-code-interpreter==2.11.5" },
  { ...OLD_E2B, main: "e2b-code-interpreter==2.8.1" },
])("what is installed of $label is what is listed, to the version", async ({ main, ...packages }) => {
  const python = await pythonWith(packages, (line) => process.stdout.write(`clients: ${line}\n`));
  const installed = execFileSync(python, ["-I", "-m", "pip", "freeze"], { encoding: "utf8" });
  const listed = readFileSync(packages.requirements, "utf8").replaceAll(/^#.*\n/gm, "").replace(/\[[a-z,]+\]/, "");
  expect(installed).toBe(listed);
  expect(installed).toContain(`\n${main}\n`);
});
