/**
 * Four projects. What needs no cluster comes first: `core`, pure functions, and `unit`. Then what needs one: `cluster`,
 * several files at a time, and `node`, whose containers run on one real node, one file after another. @module
 */
import { execFileSync } from "node:child_process";
import { randomInt } from "node:crypto";
import process from "node:process";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";

const CORE = ["hooks", "lib", "api", "claims", "diagnosis"].map((folder) => `test/${folder}/**/*.test.ts`);
const CLUSTER = ["test/{integration,clients}/**/*.test.ts"];
const NODE = ["test/{node,browser}/**/*.test.ts"];

const isSoak = process.env["HOOKBOX_TEST_SOAK"] !== undefined;
const reportFile = process.env["HOOKBOX_TEST_REPORT"];

/** Where random tests begin: the commit decides, so that a failure can be had again; a long run draws its own. */
function seedOf(): number {
  const given = process.env["HOOKBOX_TEST_SEED"];
  if (given !== undefined) return Number(given);
  if (isSoak) return randomInt(2 ** 31);
  try {
    const hash = execFileSync("git", ["rev-parse", "HEAD"], { cwd: import.meta.dirname, stdio: "pipe" });
    return Number.parseInt(hash.toString().slice(0, 7), 16);
  } catch {
    // Not a checkout.
    return 1;
  }
}

type Options = NonNullable<TestProjectInlineConfiguration["test"]>;

function project(name: string, groupOrder: number, options: Options): TestProjectInlineConfiguration {
  // Some start processes, and a machine that has other work takes its time over that.
  return { extends: true, test: { name, sequence: { groupOrder }, testTimeout: 30_000, ...options } };
}

const onCluster: Options = {
  globalSetup: ["test/integration/setup.ts"],
  testTimeout: 120_000,
  hookTimeout: 120_000,
};

export default defineConfig({
  test: {
    provide: { seed: seedOf(), isSoak },
    reporters: [
      "default",
      "./test/report.ts",
      ...reportFile === undefined ? [] : [["json", { outputFile: `${reportFile}.json` }] as ["json", object]],
    ],
    projects: [
      // Pure functions leave nothing behind that a file would have to be kept from.
      project("core", 0, { include: CORE, pool: "threads", isolate: false, maxWorkers: 2 }),
      project("unit", 0, { include: ["test/**/*.test.ts"], exclude: [...CORE, ...CLUSTER, ...NODE], maxWorkers: 2 }),
      project("cluster", 1, { ...onCluster, include: CLUSTER, maxWorkers: 3 }),
      project("node", 2, { ...onCluster, include: NODE, maxWorkers: 2, setupFiles: ["test/node/settled.ts"] }),
    ],
  },
});
