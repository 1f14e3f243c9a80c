/** The catalogue of all diagnosis codes, each with its meaning and a remedy. docs/why.md shows it. @module */
import type { Entry } from "./entry.ts";
import { OBJECT_CODES } from "./objectcodes.ts";
import { POD_CODES } from "./podcodes.ts";

/** The code of a finding. `CATALOGUE` explains each code. */
export type Code = keyof typeof OBJECT_CODES | keyof typeof POD_CODES;

export const CATALOGUE: Readonly<Record<Code, Entry>> = { ...OBJECT_CODES, ...POD_CODES };
