/** Says at the end of a run what it was run with and what was left out; a test left out without a reason fails the run. @module */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import process from "node:process";
import type { Reporter, TestModule, Vitest } from "vitest/node";
import type { ProvidedContext } from "vitest";
import { factLines, factsOf } from "../dev/ci/facts.ts";

export default class implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const left = modules.flatMap((module) =>
      [...module.children.allTests("skipped")].map(({ fullName }) => {
        return { file: relative(process.cwd(), module.moduleId), name: fullName };
      })
    );
    const projects = this.#vitest?.projects ?? [];
    const given: Partial<ProvidedContext> = Object.assign({}, ...projects.map((each) => each.getProvidedContext()));
    // If tests are picked by name, the others are skipped.
    const isPicked = projects.some(({ config }) => config.testNamePattern !== undefined);
    const facts = factsOf(isPicked ? [] : left, given, process.env["HOOKBOX_TEST_NODES"]);
    process.stdout.write(`${factLines(facts).map((line) => `${line}\n`).join("")}\n`);
    if (facts.unexplained.length > 0) process.exitCode = 1;
    const file = process.env["HOOKBOX_TEST_REPORT"];
    if (file !== undefined) writeFileSync(`${file}.facts.json`, JSON.stringify(facts));
    if (process.env["HOOKBOX_TEST_DURATIONS"] !== undefined) writeDurations(modules);
  }
}

const DURATIONS_FILE = "test/durations.json";
/** Files that take less are not recorded, in seconds. */
const SHORT_SECONDS = 15;

/** Records how long the files took, so that the next runs can start the longest ones first. Other files keep theirs. */
function writeDurations(modules: readonly TestModule[]): void {
  const secondsOf = (module: TestModule) => Math.round(module.diagnostic().duration / 1000);
  const measured = modules.map((module) => [relative(process.cwd(), module.moduleId), secondsOf(module)] as const);
  const before: Record<string, number> = JSON.parse(readFileSync(DURATIONS_FILE, "utf8"));
  const durations = Object.entries({ ...before, ...Object.fromEntries(measured) })
    .filter(([file, seconds]) => seconds >= SHORT_SECONDS && existsSync(file))
    .toSorted(([, a], [, b]) => b - a);
  writeFileSync(DURATIONS_FILE, `${JSON.stringify(Object.fromEntries(durations), undefined, 2)}\n`);
}
