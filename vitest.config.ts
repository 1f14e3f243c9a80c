/**
 * `npm test` is five projects. What needs no cluster comes first: `core`, pure functions, `unit`, and `alone`, whose files
 * have a process each. Then what needs one: `cluster`, and `node`, whose containers run on one real node. Four files run
 * at a time, on clusters three. `npm run soak` is what searches and what lasts, in its long form, with a seed of its own. @module
 */
import { execFileSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const ROOT = fileURLToPath(new URL(".", import.meta.url));
const CORE = ["hooks", "webhook", "process", "api"].map((folder) => `test/${folder}/**/*.test.ts`);
const CLUSTER = ["test/{integration,clients}/**/*.test.ts"];
/** Few claims meet few faults, images and the Go client take minutes to build, and nobody has the Go controller: there is no short form. */
const ONLY_SOAK = [
  "test/faults/faults.test.ts",
  "test/node/{agentimage,browserimage,jupyterimage,takeover,goclient}.test.ts",
];
const NODE = ["test/{node,browser}/**/*.test.ts"];
/** What is disturbed by files before it in the same process: it puts modules in the place of others, or counts memory. */
const ALONE = globSync("test/**/*.test.ts", { cwd: ROOT }).filter((file) =>
  /vi\.mock\(|\/heap\.ts"/.test(readFileSync(join(ROOT, file), "utf8"))
);
/** What has a long form, see `isSoak`. */
const SOAK = [
  "test/**/{races,properties,laws,lagging,simulate,values,unchanged,breakage,release,faults,quiet,restore,router-wake,baddeploys,agentimage,browserimage,jupyterimage,takeover,goclient}.test.ts",
  "test/{fuzz,mutants}/*.test.ts",
];

// Processes that tests start load the same files hundreds of times: with it they take half as long to start.
process.env["NODE_COMPILE_CACHE"] ??= join(ROOT, "node_modules/.cache/compile");
// Clusters for tests are short of processors, not of memory: their Go programs collect garbage a quarter as often.
process.env["GOGC"] ??= "400";

const isSoak = process.env["HOOKBOX_TEST_SOAK"] !== undefined;
const reportFile = process.env["HOOKBOX_TEST_REPORT"];

/** Where random tests begin: the commit decides, so that a failure can be had again; a long run draws its own. */
function seedOf(): number {
  const given = process.env["HOOKBOX_TEST_SEED"];
  if (given !== undefined) return Number(given);
  if (isSoak) return randomInt(2 ** 31);
  try {
    const hash = execFileSync("git", ["rev-parse", "HEAD"], { cwd: ROOT, stdio: "pipe" });
    return Number.parseInt(hash.toString().slice(0, 7), 16);
  } catch {
    // Not a checkout.
    return 1;
  }
}

/**
 * Files that take half a minute or more, the longest first, because few others run at the same time as the last
 * ones. The two that install hookbox on a node of their own do not begin together.
 */
const SLOW = `
  races/races wiring/cloudevents wiring/keeper dev/docs/site fuzz/upgrades fuzz/hooks
  node/deploy integration/scenario node/router-idle integration/breakage integration/docs-steps
  clients/checklist-reasons node/deploy-helm integration/restore integration/release integration/pool node/cli-transcript integration/obstacles node/examples
  integration/autoscale node/sdk node/quiet node/why clients/checklist-names clients/checklist-ready integration/keeper
  clients/lifecycle node/router-streams integration/package node/pythonclient browser/terminal node/cli node/readme
`.trim().split(/\s+/);

/** Says when a file's turn is among those of its group, the lowest first. */
function turnOf({ moduleId }: TestSpecification): number {
  const turn = SLOW.indexOf(relative(join(ROOT, "test"), moduleId).replace(/\.test\.ts$/, ""));
  return turn < 0 ? SLOW.length : turn;
}

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => turnOf(a) - turnOf(b));
  }
}

type Options = NonNullable<TestProjectInlineConfiguration["test"]>;

function project(name: string, groupOrder: number, options: Options): TestProjectInlineConfiguration {
  // Ends what hangs, and no more: on a machine that has other work a test may take ten times as long.
  const patience = { testTimeout: 900_000, hookTimeout: 900_000 };
  return { extends: true, test: { name, sequence: { groupOrder }, maxWorkers: 4, ...patience, ...options } };
}

/** Files share processes: loading the same modules for each file took a third of the time. */
const shared: Options = { isolate: false, setupFiles: ["test/realclock.ts"] };
/** With four files at a time on two cores, the processes of a cluster can wait for seconds, and look as if they had ended. */
const onCluster: Options = { globalSetup: ["test/integration/setup.ts"], maxWorkers: 3 };

const PROJECTS = [
  // Pure functions leave nothing behind that a file would have to be kept from.
  project("core", 0, { include: CORE, exclude: ALONE, ...shared }),
  project("unit", 0, {
    include: ["test/**/*.test.ts"],
    exclude: [...CORE, ...CLUSTER, ...NODE, ...ALONE, ...ONLY_SOAK],
    ...shared,
  }),
  project("alone", 0, { include: ALONE }),
  project("cluster", 1, { ...onCluster, include: CLUSTER }),
  project("node", 1, {
    ...onCluster,
    include: NODE,
    exclude: ONLY_SOAK,
    setupFiles: ["test/node/settled.ts"],
  }),
];

const SOAK_PROJECTS = [
  project("search", 0, {
    include: SOAK,
    exclude: [...CLUSTER, ...NODE, ...ONLY_SOAK],
    maxWorkers: 2,
    testTimeout: 3_600_000,
  }),
  project("last", 1, { ...onCluster, include: SOAK, exclude: ["test/!(integration|node|faults)/**"], maxWorkers: 1 }),
];

export default defineConfig({
  test: {
    provide: { seed: seedOf(), isSoak },
    // CI has the message alone: it is to say what differs.
    chaiConfig: { truncateThreshold: 2000 },
    sequence: { sequencer: SlowFirst },
    reporters: [
      isSoak ? "verbose" : "default",
      "./test/report.ts",
      ...reportFile === undefined ? [] : [["json", { outputFile: `${reportFile}.json` }] as ["json", object]],
    ],
    projects: isSoak ? SOAK_PROJECTS : PROJECTS,
  },
});
