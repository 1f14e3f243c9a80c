/** All that a diagnosis can say: each code with its meaning and what to do. docs/why.md shows it. @module */
import type { Entry } from "./entry.ts";
import { OBJECT_CODES } from "./objectcodes.ts";
import { POD_CODES } from "./podcodes.ts";

/** What a finding can be; the catalogue says what each means. */
export type Code = keyof typeof OBJECT_CODES | keyof typeof POD_CODES;

export const CATALOGUE: Readonly<Record<Code, Entry>> = { ...OBJECT_CODES, ...POD_CODES };
