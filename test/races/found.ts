/** Scenarios in which something went wrong once, and that it does not. @module */
import { expect } from "vitest";
import { CALM, run, type Scenario } from "./world.ts";

/** A race that was found. */
export interface Found {
  /** What happens. */
  name: string;
  /** Why it went wrong. */
  reason: string;
  scenario: Partial<Scenario>;
}

/** Runs a scenario, with a first status that the CRDs give and without. */
export async function expectHolds(scenario: Partial<Scenario>): Promise<void> {
  for (const isPreset of [true, false]) {
    const whole = { replicas: 1, acts: [], fates: [], forecast: CALM, isPreset, ...scenario };
    const { violations, atRest, faults } = await run(whole);
    expect({ isPreset, violations, atRest, faults }).toEqual({ isPreset, violations: [], atRest: [], faults: [] });
  }
}
