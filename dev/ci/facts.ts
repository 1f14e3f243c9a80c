/** Describes a run of the tests: its configuration, and which tests were skipped and why. @module */

/** The facts about a run for its report. */
export interface RunFacts {
  /** Absent if no test asked for a cluster. */
  engine?: string;
  nodes?: string;
  /** The environment variable that repeats the same random tests. */
  seed: string;
  /** Number of skipped tests, by the reason that allows it. */
  skipped: Record<string, number>;
  /** Tests that were skipped without such a reason, which is a failure. */
  unexplained: string[];
}

/** The configuration of the tests. Each field is absent if no test asked for it. */
interface RunContext {
  engine?: string | undefined;
  nodes?: string | undefined;
  seed?: string | number | undefined;
}

/** The only reasons for which tests may be skipped. */
const REASONS: readonly {
  files: RegExp;
  reason: string;
  holds: (given: RunContext, wantedNodes: string | undefined) => boolean;
}[] = [
  {
    files: /^test\/(node|browser|integration|clients)\//,
    reason: "needs a real node",
    holds: ({ nodes }, wantedNodes) => nodes === "simulated" && wantedNodes !== "real",
  },
  {
    files: /^test\/node\/takeover\.test\.ts$/,
    reason: "needs a binary of the Go controller",
    holds: () => true,
  },
];

/**
 * Sorts the skipped tests.
 *
 * @param left the skipped tests, with files relative to the checkout
 * @param wantedNodes value of HOOKBOX_TEST_NODES
 */
export function factsOf(
  left: readonly { file: string; name: string }[],
  given: RunContext,
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

/** Formats the facts, one for each line. */
export function factLines({ engine, nodes, seed, skipped, unexplained }: RunFacts): string[] {
  const reasons = Object.entries(skipped).map(([reason, count]) => `${count} (${reason})`);
  return [
    ...engine === undefined ? [] : [`engine   ${engine}`],
    ...nodes === undefined ? [] : [`nodes    ${nodes}`],
    `seed     ${seed}`,
    `skipped  ${reasons.join(", ") || "none"}`,
    ...unexplained.map((test) => `skipped without a reason that dev/ci/facts.ts knows: ${test}`),
  ];
}
