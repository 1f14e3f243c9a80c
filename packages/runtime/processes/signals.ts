/** Signals to whole process groups and sessions; it must not signal a process by its bare id. @module */
import process from "node:process";
import { listProcesses } from "../../process/proctable.ts";

/** New groups may appear while the old ones are killed; a session that forks faster than this many sweeps wins. */
const MOST_SWEEPS = 5;

/** Sends `signal` to every process of the group; false if the group has no process left. */
export function signalGroup(pgid: number, signal: NodeJS.Signals | 0): boolean {
  // 0 and 1 would mean the runtime's own group and everything there is.
  if (!Number.isInteger(pgid) || pgid < 2) throw new RangeError(`Cannot signal group ${pgid}: no such group`);
  try {
    process.kill(-pgid, signal);
    return true;
  } catch (error) {
    // Deno has the code in the message only.
    if (error instanceof Error && /ESRCH|EPERM/.test(`${"code" in error ? error.code : ""} ${error.message}`)) {
      return false;
    }
    throw error;
  }
}

/**
 * Kills every process of a session, whose leader has not been waited for yet: its own group first and at once, then
 * those that job control split off, as far as /proc shows them.
 */
export function killSession(sid: number): void {
  signalGroup(sid, "SIGKILL");
  for (let sweep = 0; sweep < MOST_SWEEPS; sweep++) {
    const groups = new Set(
      listProcesses().filter((one) => one.sid === sid && one.state !== "Z").map(({ pgid }) => pgid),
    );
    groups.delete(sid);
    if (groups.size === 0) return;
    for (const pgid of groups) signalGroup(pgid, "SIGKILL");
  }
}
