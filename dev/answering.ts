/** Waits for servers that were just started. @module */
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { isRunning, type ProcessRecord } from "./cluster/processes.ts";

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
