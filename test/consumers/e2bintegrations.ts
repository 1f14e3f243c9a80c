/**
 * Published integrations of other frameworks with E2B, unchanged, on hookbox's API for E2B's clients, its router and its
 * runtime. The cluster is in memory.
 * @module
 */
import { cpSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type Packages, pythonWith } from "../clients/python.ts";
import { startTLSWorld, type TLSWorld } from "../clients/tlsworld.ts";
import { npmPackages } from "../npmpackages.ts";
import { ranProgram } from "../ranprogram.ts";
import { makeTempFolder } from "../tempfolder.ts";
import type { Checks, Consumer } from "./consumer.ts";
import { PROGRAMS, say } from "./stage.ts";

const MANIFEST = fileURLToPath(new URL("e2bintegrations.json", import.meta.url));
const RESOLVER = new URL("../clients/programs/loopback.mjs", import.meta.url).href;

/** How a client reaches sandboxes. */
type Reach = "headers" | "hosts";

interface Integration {
  client: string;
  version: string;
  /** A file of `programs/`. */
  program: string;
  /** The requirements of a program in Python: `requirements-e2b-<name>.txt`. Absent: it is in JavaScript. */
  requirements?: string;
  /** The ways that are tried. */
  reaches: readonly Reach[];
  note: string;
}

const BOTH = ["headers", "hosts"] as const;
const PAUSE_NOTE = "It asks for a pause at the end of the timeout, so the template needs a volume " +
  "(`hookbox project create --storage`).";

const INTEGRATIONS: Integration[] = [
  {
    client: "@computesdk/e2b",
    version: "1.7.52",
    program: "e2bcomputesdk.mjs",
    reaches: BOTH,
    note: "With `computesdk` 4.1.4. Snapshots are refused.",
  },
  {
    client: "@mastra/e2b",
    version: "0.8.0",
    program: "e2bmastra.mjs",
    reaches: BOTH,
    note: "With `@mastra/core` 1.71.0. Name a template: without one, the package builds its own, which is refused. " +
      `${PAUSE_NOTE} The package returns the output of a command that fails twice, also at E2B.`,
  },
  {
    client: "deepagents (npm)",
    version: "1.14.1",
    program: "e2bdeepagents.mjs",
    reaches: BOTH,
    note: "deepagents for JavaScript has no backend for E2B. This one is a `BaseSandbox` of 30 lines around `e2b` " +
      "2.51.0: `test/consumers/programs/e2bdeepagents.mjs`.",
  },
  {
    client: "openai-agents[e2b]",
    version: "0.24.0",
    program: "e2bopenai.py",
    requirements: "openai",
    reaches: ["headers"],
    note: `With e2b 2.31.0, which it pins. ${PAUSE_NOTE} The \`root\` of the manifest must be a folder that the user ` +
      'may create. Snapshots are refused: use `workspace_persistence="tar"`, the default.',
  },
  {
    client: "langchain-e2b",
    version: "0.0.6",
    program: "e2blangchain.py",
    requirements: "langchain",
    reaches: ["headers"],
    note: "With deepagents 0.6.12 and e2b 2.63.0.",
  },
  {
    client: "harbor[e2b]",
    version: "0.26.0",
    program: "e2bharbor.py",
    requirements: "harbor",
    reaches: ["headers"],
    note: "Name a template: `--ek prebuilt_template_id=NAME`. Otherwise Harbor builds one, which is refused. The " +
      "project needs `--root`, and the image the `workdir` of the task.",
  },
];

const WAYS: Record<Reach, string> = {
  headers: "`E2B_API_URL` and `E2B_SANDBOX_URL`, without TLS",
  hosts: "`E2B_DOMAIN`: wildcard hosts with TLS",
};

/** The rows of the integrations. */
export const E2B_INTEGRATIONS: Consumer[] = INTEGRATIONS.flatMap((integration) =>
  integration.reaches.map((reach) => ({
    client: integration.client,
    version: integration.version,
    way: WAYS[reach],
    runs: "npm run soak -- e2bintegrations" as const,
    note: integration.note,
    run: () => use(integration, reach),
  }))
);

async function use({ program, requirements }: Integration, reach: Reach): Promise<Checks> {
  const python = requirements === undefined ? undefined : await pythonWith(packagesOf(requirements), say);
  const world = await startTLSWorld();
  const settings = { env: { ...environmentOf(world, reach), SANDBOX_HOME: world.home } };
  const printed = python === undefined
    ? await ranProgram(process.execPath, [
      ...reach === "hosts" ? ["--import", RESOLVER] : [],
      await atPackages(program),
    ], settings)
    : await ranProgram(python, ["-B", join(PROGRAMS, program)], settings);
  return JSON.parse(printed.trimEnd().split("\n").at(-1) ?? "");
}

/** Returns the variables that a user sets, and those by which programs accept the certificate and send no telemetry. */
function environmentOf({ apiKey, apiUrl, url, domain, port, env }: TLSWorld, reach: Reach): NodeJS.ProcessEnv {
  const quiet = { ...env, MASTRA_TELEMETRY_DISABLED: "1", E2B_API_KEY: apiKey, E2B_API_URL: apiUrl };
  // The API has no TLS here. By hosts, its address is that of the domain.
  return { ...quiet, ...reach === "headers" ? { E2B_SANDBOX_URL: url } : { E2B_DOMAIN: `${domain}:${port}` } };
}

/** Copies a program next to the npm packages. @returns its path */
async function atPackages(program: string): Promise<string> {
  const folder = makeTempFolder();
  symlinkSync(join(await npmPackages(MANIFEST), "node_modules"), join(folder, "node_modules"));
  for (const file of [program, "checks.mjs"]) cpSync(join(PROGRAMS, file), join(folder, file));
  return join(folder, program);
}

function packagesOf(name: string): Packages {
  const requirements = fileURLToPath(new URL(`requirements-e2b-${name}.txt`, import.meta.url));
  return { name: `e2b-${name}`, label: `${name} with E2B`, requirements, atLeast: 12 };
}
