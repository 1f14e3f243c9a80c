/** Sends signals to whole process groups. It must not send a signal to a single process id. @module */
import process from "node:process";

/** Sends `signal` to every process of the group; false if the group has no process left. */
export function signalGroup(pgid: number, signal: NodeJS.Signals | 0): boolean {
  // Ids 0 and 1 would signal the runtime's own group, or all processes.
  if (!Number.isInteger(pgid) || pgid < 2) throw new RangeError(`Cannot signal group ${pgid}: no such group`);
  try {
    process.kill(-pgid, signal);
    return true;
  } catch (error) {
    // Deno has the code only in the message.
    if (error instanceof Error && /ESRCH|EPERM/.test(`${"code" in error ? error.code : ""} ${error.message}`)) {
      return false;
    }
    throw error;
  }
}
