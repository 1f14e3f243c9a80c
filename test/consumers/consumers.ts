/** The clients and integrations that people install, used on an installation of hookbox. @module */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Installed } from "../node/installed.ts";
import { type Consumer, fileOf, rowOf } from "./consumer.ts";
import { DEEPAGENTS_BACKENDS } from "./deepagents.ts";
import { GO_CLIENT } from "./goclient.ts";
import { INSPECTOR } from "./inspector.ts";
import { MCP_CLIENTS } from "./mcp.ts";
import { OPENHANDS } from "./openhands.ts";
import { PYTHON_CLIENTS } from "./pythonclients.ts";
import { PYTHON_PACKAGES } from "./pythonpackages.ts";
import { prepare, type Stage } from "./stage.ts";

/** The rows of the tables in docs/integrations.md that need an installation. */
export const CONSUMERS: Consumer[] = [
  ...PYTHON_CLIENTS,
  ...DEEPAGENTS_BACKENDS,
  ...GO_CLIENT,
  ...MCP_CLIENTS,
  ...INSPECTOR,
  ...PYTHON_PACKAGES,
  ...OPENHANDS,
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

  testEach(consumers, () => stage);
}

/** The same, for consumers that need no installation. */
export function testEach(consumers: readonly Consumer[], stage: () => Stage | undefined): void {
  test.for(consumers)("$client $version, $way", async (consumer) => {
    const row = rowOf(consumer, await consumer.run?.(stage() as Stage));
    await expect(`${JSON.stringify(row, null, 2)}\n`).toMatchFileSnapshot(`${MATRIX}${fileOf(consumer)}`);
  });
}
