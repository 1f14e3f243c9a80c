/** The clients and integrations that people install, used on an installation of hookbox. @module */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Installed } from "../node/installed.ts";
import { type Consumer, fileOf, rowOf } from "./consumer.ts";
import { DEEPAGENTS_BACKENDS } from "./deepagents.ts";
import { GO_CLIENT } from "./goclient.ts";
import { INSPECTOR } from "./inspector.ts";
import { MCP_CLIENTS } from "./mcp.ts";
import { PYTHON_CLIENTS } from "./pythonclients.ts";
import { prepare, type Stage } from "./stage.ts";

/** Clients without a test here, and why. */
const NOT_RUN: Consumer[] = [
  {
    client: "openhands-workspace[agent-sandbox]",
    version: "1.58.2",
    way: "smoke test of the package",
    runs: "npm run soak -- consumers",
    note: "No test installs it yet: it needs Python 3.12 and 156 packages (650 MB).",
  },
];

/** All rows of the table in docs/integrations.md, in its order. */
export const CONSUMERS: Consumer[] = [
  ...PYTHON_CLIENTS,
  ...DEEPAGENTS_BACKENDS,
  ...GO_CLIENT,
  ...MCP_CLIENTS,
  ...INSPECTOR,
  ...NOT_RUN,
];

const MATRIX = fileURLToPath(new URL("matrix/", import.meta.url));

/**
 * Compares the result of each consumer with its row in `matrix/`; `vitest -u` writes the rows. For use in `describe`.
 *
 * @param image of the sandboxes
 */
export function testConsumers(installed: Installed, image: () => string, consumers: readonly Consumer[]): void {
  const ends: (() => Promise<void>)[] = [];
  let stage: Stage;
  beforeAll(async () => void (stage = await prepare(installed, image(), (end) => ends.push(end))));
  afterAll(() => Promise.all(ends.map((end) => end())));

  test.for(consumers)("$client $version, $way", async (consumer) => {
    const row = rowOf(consumer, await consumer.run?.(stage));
    await expect(`${JSON.stringify(row, null, 2)}\n`).toMatchFileSnapshot(`${MATRIX}${fileOf(consumer)}`);
  });
}
