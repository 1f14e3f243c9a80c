/** Asks a cluster whether hookbox can work in it: the list of checks, and how they are shown. Changes nothing. @module */
import { checkAccounts } from "./doctor/accounts.ts";
import type { Check, Diagnosis, Patient } from "./doctor/check.ts";
import { checkControllers, checkMetacontroller } from "./doctor/engine.ts";
import { checkBinder, checkKeeper, checkRouter } from "./doctor/processes.ts";
import { checkRights, checkRuntimeClasses, checkStorage } from "./doctor/rights.ts";
import { checkCRDs, checkServer } from "./doctor/server.ts";
import { plainly } from "./terminal/plain.ts";
import type { Paint } from "./terminal/paint.ts";

const CHECKS: Check[] = [
  checkServer,
  checkCRDs,
  checkMetacontroller,
  checkControllers,
  checkKeeper,
  checkBinder,
  checkRouter,
  checkAccounts,
  checkRights,
  checkRuntimeClasses,
  checkStorage,
];

/** Yields what the checks find, in their order, as soon as it is there. Without an API server the first says all. */
export async function* examine(patient: Patient): AsyncGenerator<Diagnosis> {
  const [first, ...others] = CHECKS;
  const server = await first?.(patient) ?? [];
  yield* server;
  if (server.some(({ mark }) => mark === "fail")) return;
  const running = others.map((check) => check(patient));
  for (const found of running) yield* await found;
}

const MARKS = { ok: ["green", "✓"], warn: ["yellow", "!"], fail: ["red", "✗"] } as const;
/** Longer names push their text to the right. */
const WIDTH = 24;

/** Writes one finding: mark, what, text, and below it what to do. */
export function renderDiagnosis(diagnosis: Diagnosis, paint: Paint): string {
  const { mark, what, text, remedy } = plainly(diagnosis);
  const [color, sign] = MARKS[mark];
  const line = `${paint(color, sign)} ${what.padEnd(WIDTH)} ${text}\n`;
  return remedy === undefined ? line : `${line}  ${" ".repeat(WIDTH)} ${paint("dim", `→ ${remedy}`)}\n`;
}
