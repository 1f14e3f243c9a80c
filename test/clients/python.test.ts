/** The environment that the published client runs in. @module */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { expect, onTestFinished, test, vi } from "vitest";
import { cacheFolder } from "../../dev/cluster/binaries.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { MODULE_FOLDER } from "./modulepython.ts";
import { type BasePython, CLIENT, DEEPAGENTS, E2B, environmentName, OLD_E2B, pythonWith, serves } from "./python.ts";

const PYTHON: BasePython = { executable: "/bin/python3", version: [3, 12, 1], prefix: "/usr", pip: "ensurepip" };

test.for([
  { name: "the oldest that will do", change: { version: [3, 11, 0] }, want: true },
  { name: "older than the client", change: { version: [3, 10, 12] }, want: false },
  { name: "older than the packages", change: { version: [3, 11, 9] }, atLeast: 12, want: false },
  { name: "Debian's without python3-venv", change: { pip: undefined }, want: false },
])("serves(): $name", ({ change, atLeast, want }) => {
  expect(serves({ ...PYTHON, ...change } as BasePython, atLeast)).toBe(want);
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

test("a machine whose own Python is too old gets one from a Go module, which makes environments, too", async () => {
  const folder = makeTempFolder();
  const requirements = join(folder, "requirements.txt");
  writeFileSync(requirements, "flit_core==4.2.0\n");
  const go = execFileSync("sh", ["-c", "command -v go"], { encoding: "utf8" }).trim();
  vi.stubEnv("PATH", dirname(go)).stubEnv("PYENV_ROOT", folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  const python = await pythonWith({ name: "test", label: "one package", requirements, atLeast: 14 }, () => {});
  const code = "import flit_core, sys; print(sys.base_prefix, flit_core.__version__)";
  expect(execFileSync(python, ["-I", "-c", code], { encoding: "utf8" })).toBe(
    `${cacheFolder()}/${MODULE_FOLDER} 4.2.0\n`,
  );
});
