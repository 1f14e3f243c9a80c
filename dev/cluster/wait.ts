/** Waits until a process that was just started is ready, and reports why it is not. @module */
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { isRunning, type ProcessRecord } from "./processes.ts";

interface Waiting {
  /** The end of the sentence "Cannot start …": for example `kube-apiserver`. */
  what: string;
  /** Tells whether it is ready. An error counts as "not yet", and is reported if the time is up. */
  probe: () => Promise<boolean>;
  /** If one of these ends, the wait ends with an error. */
  needs: ProcessRecord[];
  timeoutSeconds: number;
  /** How long to wait between two calls of `probe`; the default is 25. */
  everyMilliseconds?: number;
  signal?: AbortSignal | undefined;
}

/**
 * Calls `probe` repeatedly until it returns true.
 *
 * @throws {Error} one clear sentence and the last lines of the log, if a needed process ends or the time is up
 */
export async function waitUntil(waiting: Waiting): Promise<void> {
  const deadline = Date.now() + waiting.timeoutSeconds * 1000;
  let lastError: unknown;
  while (Date.now() < deadline) {
    try {
      if (await waiting.probe()) return;
    } catch (error) {
      lastError = error;
    }
    const ended = waiting.needs.find((needed) => !isRunning(needed));
    if (ended) throw new Error(`Cannot start ${waiting.what}: ${ended.name} has ended${logTail(ended)}`);
    await sleep(waiting.everyMilliseconds ?? 25, undefined, { signal: waiting.signal });
  }
  const seen = lastError === undefined
    ? ""
    : ` (${lastError instanceof Error ? lastError.message : String(lastError)})`;
  const last = waiting.needs.at(-1);
  const tail = last ? logTail(last) : "";
  throw new Error(`Cannot start ${waiting.what}: not ready after ${waiting.timeoutSeconds} s${seen}${tail}`);
}

/** Returns the last lines of a process's log, to be appended to a sentence; empty: there are none. */
export function logTail(record: ProcessRecord, lines = 15): string {
  if (record.logFile === undefined || !existsSync(record.logFile)) return "";
  const all = readFileSync(record.logFile, "utf8").trimEnd().split("\n");
  const tail = all.slice(-lines).map((line) => `  ${line}`).join("\n");
  return `\nLast lines of ${record.logFile}:\n${tail}`;
}

/**
 * Resolves when `url` answers with a success. @throws {Error} with the end of the log if the process ends first, or
 * after 20 s
 */
export async function untilAnswering(url: string, server: ProcessRecord, signal: AbortSignal): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    const answer = await fetch(url, { signal }).catch(() => undefined);
    if (answer?.ok) return;
    signal.throwIfAborted();
    if (!isRunning(server)) break;
    await sleep(50);
  }
  const log = server.logFile && existsSync(server.logFile) ? readFileSync(server.logFile, "utf8").slice(-1500) : "";
  throw new Error(`Cannot start ${server.name}: ${url} does not answer\n${log}`);
}
