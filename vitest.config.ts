/**
 * `npm test` is five projects. What needs no cluster comes first: `core`, pure functions, `unit`, and `alone`, whose files
 * have a process each. Then what needs one: `cluster`, and `node`, whose containers run on one real node. Four files run
 * at a time, on clusters three. `npm run soak` is what searches and what lasts, in its long form, with a seed of its own. @module
 */
import { execFileSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const ROOT = fileURLToPath(new URL(".", import.meta.url));
/** The folder of a test file decides its project (test/README.md). */
const CORE = ["hooks", "webhook", "process", "api"].map((folder) => `test/${folder}/**/*.test.ts`);
const CLUSTER = ["test/{integration,clients}/**/*.test.ts"];
const NODE = ["test/{node,browser}/**/*.test.ts"];
const ALONE = ["test/**/alone/*.test.ts"];
const SOAK = ["test/**/soak/*.test.ts"];
const ONLY_SOAK = ["test/soak/*.test.ts"];

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

/** Seconds that files took when they last ran with `HOOKBOX_TEST_DURATIONS=1`, by file; shorter ones are left out. */
const DURATIONS: Record<string, number> = JSON.parse(readFileSync(join(ROOT, "test/durations.json"), "utf8"));

/** Both install hookbox on a node of their own, so they must not begin together. */
const APART = ["test/node/deploy.test.ts", "test/node/deploy-helm.test.ts"];

/** Starts the longest files first, because few others run at the same time as the last ones. */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const nameOf = ({ moduleId }: TestSpecification) => relative(ROOT, moduleId);
    const secondsOf = (file: TestSpecification) => DURATIONS[nameOf(file)] ?? 0;
    const sorted = (await super.sort(files)).toSorted((a, b) => secondsOf(b) - secondsOf(a));
    const [first = -1, second = -1] = sorted.flatMap((file, index) => APART.includes(nameOf(file)) ? [index] : []);
    if (first >= 0 && second - first < 6) sorted.splice(first + 6, 0, ...sorted.splice(second, 1));
    return sorted;
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
  project("last", 1, {
    ...onCluster,
    include: ["test/{integration,node}/soak/*.test.ts", ...ONLY_SOAK],
    maxWorkers: 1,
  }),
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
