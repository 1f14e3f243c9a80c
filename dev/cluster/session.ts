/**
 * The start of a cluster: its folder, the processes started so far, how to report progress, and how to abort. @module
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { CLUSTER_VARIABLE, type ProcessRecord, startProcess } from "./processes.ts";
import type { ClusterRecord } from "./state.ts";

export interface Session {
  stateDir: string;
  /** The record as it was last written. */
  record(): ClusterRecord;
  /** Changes the record, also on disk. */
  update(change: Partial<ClusterRecord>): void;
  /** Starts a process and records it immediately. */
  start(name: string, command: string, args: string[], env?: Record<string, string>): ProcessRecord;
  progress(line: string): void;
  signal?: AbortSignal | undefined;
}

/** Starts a session: writes the first record and creates the folder for logs. */
export function beginSession(
  start: Pick<Session, "stateDir" | "progress" | "signal"> & { write: (record: ClusterRecord) => void },
  first: ClusterRecord,
): Session {
  const { stateDir, write, progress, signal } = start;
  let record = first;
  const update = (change: Partial<ClusterRecord>) => {
    record = { ...record, ...change };
    write(record);
  };
  update({});
  mkdirSync(join(stateDir, "logs"), { recursive: true });
  const startOne: Session["start"] = (name, command, args, env = {}) => {
    signal?.throwIfAborted();
    const marked = { ...env, [CLUSTER_VARIABLE]: record.id };
    const started = startProcess({ name, command, args, env: marked, logFile: join(stateDir, "logs", `${name}.log`) });
    update({ processes: [...record.processes, started] });
    return started;
  };
  return { stateDir, record: () => record, update, start: startOne, progress, signal };
}
