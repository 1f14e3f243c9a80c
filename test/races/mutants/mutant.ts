/** One race that was mended, as it is put back. @module */
import type { Variant } from "../variant.ts";

/** Functions of the product that have another form while their switch is on; see `switches.ts`. */
export type Switch = "rash";

export interface Mutant {
  name: string;
  /** What comes of it. */
  reason: string;
  /** Index of the scenario that found it before. */
  foundBy: number;
  variant?: Variant;
  on?: Switch;
}
