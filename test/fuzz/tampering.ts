/** 10,000 inputs that somebody tampered with, sent to what runs in this process: it lives, and nothing stays open. @module */
import { expect } from "vitest";
import { errorFields } from "../../packages/process/log.ts";
import { until } from "../eventually.ts";
import fc, { runs } from "../properties.ts";
import { type Leaving, openResources, runningChildren, watchForCrashes } from "./wire.ts";

/** What one listener is sent. */
interface Input {
  /** Names the listener in reports of failures. */
  to: string;
  text: string;
  how: Leaving;
  /** Sends it, and holds the listener to what it owes; returns the status of the answer, `""` if there is none. */
  send(text: string, how: Leaving): Promise<string>;
}

/** What is tried. */
export interface Tampering<Stage, Drawn> {
  start(): Promise<Stage>;
  drawn: fc.Arbitrary<Drawn>;
  /** @default 10,000 */
  tries?: number;
  input(stage: Stage, drawn: Drawn): Input;
  /** Sees that all is well with what runs still. */
  after(stage: Stage): Promise<void>;
}

/**
 * Tries it, and returns how often each status was answered: a fuzzer whose inputs are all refused at the door tries nothing.
 *
 * @throws {Error} with what was sent, if a check fails or anything would have ended the process
 */
export async function tryTampering<Stage extends { stop(): Promise<void> }, Drawn>(
  { start, drawn, tries = 10_000, input, after }: Tampering<Stage, Drawn>,
): Promise<Record<string, number>> {
  const [before, children] = [openResources(), runningChildren()];
  const stage = await start();
  const { crashes, stop } = watchForCrashes();
  const statuses: Record<string, number> = {};
  try {
    await fc.assert(
      fc.asyncProperty(drawn, async (values) => {
        const { to, text, how, send } = input(stage, values);
        crashes.length = 0;
        try {
          const status = await send(text, how);
          statuses[status] = (statuses[status] ?? 0) + 1;
          expect(crashes.map(errorFields)).toEqual([]);
        } catch (cause) {
          throw new Error(`Sent to ${to}, left by ${how}: ${JSON.stringify(text)}`, { cause });
        }
      }),
      { numRuns: runs(tries) },
    );
    await after(stage);
    // Commands and shells end with their clients, long before what runs them.
    await until(() => runningChildren() <= children);
  } finally {
    stop();
    await stage.stop();
  }
  await until(() => openResources() <= before);
  return statuses;
}

/** Returns the status that an answer begins with; `""`: another protocol's, or none at all. */
export function statusOf(answer: string): string {
  // HTTP/2 in the clear begins with the server's settings.
  expect(answer, "an answer, or none").toMatch(/^(HTTP\/1\.[01] \d{3} |\0\0|$)/);
  return /^HTTP\/1\.[01] (\d{3})/.exec(answer)?.[1] ?? "";
}
