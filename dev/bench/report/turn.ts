/** Describes one run in a line, for people who watch a bench. @module */
import type { Result } from "../result.ts";
import { combine } from "./combine.ts";
import { costOf } from "./cost.ts";
import { figure } from "./table.ts";

/** Returns the result of one run: `300 of 300 Ready, 19.8 a second, p50 121 ms, p99 402 ms, own CPU 31.2 ms each`. */
export function describeTurn(result: Result): string {
  const [row] = combine([result]);
  if (!row) return "";
  const { violations, ready, asked, perSecond, p50, p99 } = row;
  const parts = [
    `${ready} of ${asked} Ready`,
    `${figure(perSecond)} a second`,
    `p50 ${figure(p50)} ms`,
    `p99 ${figure(p99)} ms`,
    `own CPU ${figure(costOf(row).cpu)} ms each`,
    ...(violations.length > 0 ? [`violations: ${violations.length}`] : []),
  ];
  return parts.join(", ");
}
