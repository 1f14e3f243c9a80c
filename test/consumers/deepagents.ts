/** deepagents with the backends of langchain-k8s, by LangChain's own tests for such backends. @module */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Packages, pythonWith } from "../clients/python.ts";
import { aPool, aTemplate, untilFull } from "../integration/pools.ts";
import { makeTempFolder } from "../tempfolder.ts";
import type { Checks, Consumer } from "./consumer.ts";
import { podSpecOf, programOf, say, type Stage } from "./stage.ts";

const PACKAGES: Packages = {
  name: "langchain-tests",
  label: "deepagents and LangChain's tests",
  requirements: fileURLToPath(new URL("requirements-langchain-tests.txt", import.meta.url)),
};

const NOTE = [
  "deepagents 0.7.32, `SandboxIntegrationTests` of langchain-tests 1.1.9, in `/tmp`.",
  "Seven of its tests fail with every backend, also with deepagents' own `LocalShellBackend`:",
  "the six of `glob` expect names, and `glob` of deepagents 0.7 returns whole paths and no folders;",
  "`test_write_existing_file_fails` expects an error, and `write` of deepagents 0.7 replaces the file.",
].join(" ");

interface Way {
  name: string;
  backend: "KubernetesSandbox" | "SandboxdBackend";
  /** Arguments of the backend. */
  settings: object;
  connection?: (stage: Stage) => object;
  /** Name of its pool, and the arguments of the runtimes there. */
  pool: string;
  args: readonly string[];
  note: string;
}

/** The largest files of the tests have 10 MiB, which are 13.5 MiB as lines of base64. */
const ROUTER = {
  backend: "KubernetesSandbox" as const,
  settings: { max_output_size: 16 << 20 },
  pool: "output",
  args: ["--max-output", "16Mi"],
  note: "The backend reads files as base64, which it cuts off at 1 MiB (`max_output_size`), and the runtime at 8 MiB " +
    "(`--max-output`). Raise both to read larger files: here they are 16 MiB.",
} satisfies Partial<Way>;

const WAYS: Way[] = [
  { ...ROUTER, name: "`KubernetesSandbox`, port-forward to the router (default)" },
  {
    ...ROUTER,
    name: "`KubernetesSandbox`, bearer token",
    connection: ({ router, token }) => ({ api_url: router, extra_headers: { Authorization: `Bearer ${token}` } }),
  },
  {
    name: "`SandboxdBackend`, port-forward to the Pod (default)",
    backend: "SandboxdBackend",
    settings: { sandboxd_root: "/" },
    pool: "root",
    args: ["--workdir", "/"],
    note:
      'Runtime with `--workdir /`, and `sandboxd_root="/"`. Six more tests fail in functions that the backend has ' +
      "from deepagents: `read` accepts binary files of any size (2 tests) and returns the newline at the end of a page " +
      "(3 tests), and the error of `edit` has other words (1 test).",
  },
];

/** The rows of deepagents. */
export const DEEPAGENTS_BACKENDS: Consumer[] = WAYS.map((way) => ({
  client: "langchain-k8s",
  version: "0.7.1",
  way: way.name,
  runs: "npm run soak -- consumers",
  note: `${NOTE} ${way.note}`,
  run: (stage) => work(stage, way),
}));

async function work(stage: Stage, { backend, connection, settings, pool, args: runtimeArgs }: Way): Promise<Checks> {
  const python = await pythonWith(PACKAGES, say);
  await providePool(stage, pool, runtimeArgs);
  const options = {
    backend,
    settings: { warmpool_name: pool, namespace: stage.ns.name, ...settings },
    ...connection === undefined ? {} : { connection: connection(stage) },
  };
  const report = join(makeTempFolder(), "report.xml");
  const quiet = ["-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", "--tb=line"];
  const args = ["-m", "pytest", ...quiet, `--junitxml=${report}`, programOf("deepagents_suite.py")];
  const output = await stage.here(python, args, { env: { OPTIONS: JSON.stringify(options) }, anyhow: true });
  return checksOf(readFileSync(report, "utf8"), output);
}

async function providePool({ ns, image }: Stage, name: string, args: readonly string[]): Promise<void> {
  const { containers: [main], ...podSpec } = podSpecOf(image);
  await ns.apply(aTemplate(name, {}, { ...podSpec, containers: [{ ...main, args }] }), aPool(name, 1));
  await untilFull(ns, name);
}

/** Reads the results in a JUnit report. A skipped test is no check. @throws {Error} with the output if there are none */
export function checksOf(report: string, output: string): Checks {
  const tests = [...report.matchAll(/<testcase [^>]*?\bname="([^"]+)"[^>]*?(?:\/>|>([^]*?)<\/testcase>)/g)];
  // What came instead has times in it, and is in the report.
  const checks = tests.filter(([, , content = ""]) => !content.includes("<skipped")).map(
    ([, name = "", content = ""]) => {
      return [name, /<(failure|error)\b/.test(content) ? "failed" : "ok"];
    },
  );
  if (checks.length === 0) throw new Error(`No test has run\n${output}`);
  return Object.fromEntries(checks);
}
