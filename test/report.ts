/** Says at the end of a run what it was run with and what was left out; a test left out without a reason fails the run. @module */
import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import process from "node:process";
import type { Reporter, TestModule, Vitest } from "vitest/node";
import type { ProvidedContext } from "vitest";

/** What a run says of itself, for whoever reads its report. */
export interface RunFacts {
  /** Absent if no test asked for a cluster. */
  engine?: string;
  nodes?: string;
  /** The environment variable that gives the same random tests again. */
  seed: string;
  /** Tests that were left out, by the reason that allows it. */
  skipped: Record<string, number>;
  /** Tests that were left out and must not be. */
  unexplained: string[];
}

/** The reasons for which tests may be left out. There are no others. */
const REASONS: readonly {
  files: RegExp;
  reason: string;
  holds: (given: Partial<ProvidedContext>, wantedNodes: string | undefined) => boolean;
}[] = [
  {
    files: /^test\/(node|browser|integration|clients)\//,
    reason: "needs a real node",
    holds: ({ nodes }, wantedNodes) => nodes === "simulated" && wantedNodes !== "real",
  },
];

/**
 * Sorts the tests that were left out.
 *
 * @param left with files relative to the checkout
 * @param wantedNodes what HOOKBOX_TEST_NODES says
 */
export function factsOf(
  left: readonly { file: string; name: string }[],
  given: Partial<ProvidedContext>,
  wantedNodes: string | undefined,
): RunFacts {
  const skipped: Record<string, number> = {};
  const unexplained: string[] = [];
  for (const { file, name } of left) {
    const found = REASONS.find(({ files, holds }) => files.test(file) && holds(given, wantedNodes));
    if (found) skipped[found.reason] = (skipped[found.reason] ?? 0) + 1;
    else unexplained.push(`${file}: ${name}`);
  }
  const { engine, nodes, seed } = given;
  return {
    ...engine === undefined ? {} : { engine },
    ...nodes === undefined ? {} : { nodes },
    seed: `HOOKBOX_TEST_SEED=${seed}`,
    skipped,
    unexplained,
  };
}

/** Renders them, one fact a line. */
export function factLines({ engine, nodes, seed, skipped, unexplained }: RunFacts): string[] {
  const reasons = Object.entries(skipped).map(([reason, count]) => `${count} (${reason})`);
  return [
    ...engine === undefined ? [] : [`engine   ${engine}`],
    ...nodes === undefined ? [] : [`nodes    ${nodes}`],
    `seed     ${seed}`,
    `skipped  ${reasons.join(", ") || "none"}`,
    ...unexplained.map((test) => `skipped without a reason that test/report.ts knows: ${test}`),
  ];
}

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
    // Whoever picks tests by name leaves out the others.
    const isPicked = projects.some(({ config }) => config.testNamePattern !== undefined);
    const facts = factsOf(isPicked ? [] : left, given, process.env["HOOKBOX_TEST_NODES"]);
    process.stdout.write(`${factLines(facts).map((line) => `${line}\n`).join("")}\n`);
    if (facts.unexplained.length > 0) process.exitCode = 1;
    const file = process.env["HOOKBOX_TEST_REPORT"];
    if (file !== undefined) writeFileSync(`${file}.facts.json`, JSON.stringify(facts));
  }
}
