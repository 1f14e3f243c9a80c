/** What a run of the tests says of itself: what it was run with, and what was left out and why. Pure. @module */

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

/** What the tests were given; each is absent if no test asked for it. */
export interface RunContext {
  engine?: string | undefined;
  nodes?: string | undefined;
  seed?: string | number | undefined;
}

/** The reasons for which tests may be left out. There are no others. */
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
 * Sorts the tests that were left out.
 *
 * @param left with files relative to the checkout
 * @param wantedNodes what HOOKBOX_TEST_NODES says
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

/** Renders them, one fact a line. */
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
