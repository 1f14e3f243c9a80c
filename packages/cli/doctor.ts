/** Checks whether hookbox can work in a cluster: the list of checks, and how results are shown. @module */
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

/**
 * Yields the results in the order of the checks, as soon as they are known. If the API server does not answer, only the
 * first check is done.
 */
export async function* examine(patient: Patient): AsyncGenerator<Diagnosis> {
  const [first, ...others] = CHECKS;
  const server = await first?.(patient) ?? [];
  yield* server;
  if (server.some(({ mark }) => mark === "fail")) return;
  const running = others.map((check) => check(patient));
  for (const found of running) yield* await found;
}

const MARKS = { ok: ["green", "✓"], warn: ["yellow", "!"], fail: ["red", "✗"] } as const;
/** Longer names move their text to the right. */
const WIDTH = 24;

/** Renders one result: mark, subject and text, and below them what to do. */
export function renderDiagnosis(diagnosis: Diagnosis, paint: Paint): string {
  const { mark, what, text, remedy } = plainly(diagnosis);
  const [color, sign] = MARKS[mark];
  const line = `${paint(color, sign)} ${what.padEnd(WIDTH)} ${text}\n`;
  return remedy === undefined ? line : `${line}  ${" ".repeat(WIDTH)} ${paint("dim", `→ ${remedy}`)}\n`;
}
