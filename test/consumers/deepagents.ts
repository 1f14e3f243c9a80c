/** deepagents with the backends of langchain-k8s, by LangChain's own tests for such backends. @module */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Packages, pythonWith } from "../clients/python.ts";
import { aPool, aTemplate, untilFull } from "../integration/pools.ts";
import { makeTempFolder } from "../tempfolder.ts";
import type { Checks, Consumer } from "./consumer.ts";
import { podSpecOf, POOL, programOf, say, type Stage } from "./stage.ts";

const PACKAGES: Packages = {
  name: "langchain-tests",
  label: "deepagents and LangChain's tests",
  requirements: fileURLToPath(new URL("requirements-langchain-tests.txt", import.meta.url)),
};

const NOTE = "deepagents 0.7.32, `SandboxIntegrationTests` of langchain-tests 1.1.9, in `/tmp`.";

interface Way {
  name: string;
  backend: "KubernetesSandbox" | "SandboxdBackend";
  connection?: (stage: Stage) => object;
  note?: string;
}

const SIZE_NOTE = "The backend sends files as commands, and the runtime refuses commands of more than 4 MiB.";

const WAYS: Way[] = [
  { name: "`KubernetesSandbox`, port-forward to the router (default)", backend: "KubernetesSandbox", note: SIZE_NOTE },
  {
    name: "`KubernetesSandbox`, bearer token",
    backend: "KubernetesSandbox",
    connection: ({ router, token }) => ({ api_url: router, extra_headers: { Authorization: `Bearer ${token}` } }),
    note: SIZE_NOTE,
  },
  {
    name: "`SandboxdBackend`, port-forward to the Pod (default)",
    backend: "SandboxdBackend",
    note: 'Runtime with `--workdir /`, and `sandboxd_root="/"`.',
  },
];

/** The rows of deepagents. */
export const DEEPAGENTS_BACKENDS: Consumer[] = WAYS.map((way) => ({
  client: "langchain-k8s",
  version: "0.7.1",
  way: way.name,
  runs: "npm run soak -- consumers",
  note: [NOTE, way.note].filter((text) => text !== undefined).join(" "),
  run: (stage) => work(stage, way),
}));

async function work(stage: Stage, { backend, connection }: Way): Promise<Checks> {
  const python = await pythonWith(PACKAGES, say);
  const isSandboxd = backend === "SandboxdBackend";
  const pool = isSandboxd ? "root" : POOL;
  if (isSandboxd) await provideRootPool(stage, pool);
  const options = {
    backend,
    settings: { warmpool_name: pool, namespace: stage.ns.name, ...isSandboxd ? { sandboxd_root: "/" } : {} },
    ...connection === undefined ? {} : { connection: connection(stage) },
  };
  const report = join(makeTempFolder(), "report.xml");
  const quiet = ["-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", "--tb=line"];
  const args = ["-m", "pytest", ...quiet, `--junitxml=${report}`, programOf("deepagents_suite.py")];
  const output = await stage.here(python, args, { env: { OPTIONS: JSON.stringify(options) }, anyhow: true });
  return checksOf(readFileSync(report, "utf8"), output);
}

/** A pool whose runtimes have the root as their working directory, so that the client reaches all files. */
async function provideRootPool({ ns, image }: Stage, name: string): Promise<void> {
  const { containers: [main], ...podSpec } = podSpecOf(image);
  const containers = [{ ...main, args: ["--workdir", "/"] }];
  await ns.apply(aTemplate(name, {}, { ...podSpec, containers }), aPool(name, 1));
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
