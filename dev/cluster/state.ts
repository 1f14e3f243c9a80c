/**
 * The record of a cluster, with which another process can find or remove the cluster; the note about it outside of its
 * folder, with which the next start can remove it if it was abandoned; and the session that writes both while the
 * cluster starts. @module
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheFolder } from "./binaries.ts";
import { CLUSTER_VARIABLE, type ProcessRecord, startProcess } from "./processes.ts";

/** The folder of the cluster of `npm run up`. */
export const STATE_FOLDER = fileURLToPath(new URL("../../.hookbox/cluster", import.meta.url));

/** Name of the file in the cluster's folder. */
export const RECORD = "cluster.json";

export interface ClusterRecord {
  /** Eight hexadecimal digits. They are part of every name that the cluster uses outside its folder. */
  id: string;
  /**
   * The process that must be alive for the cluster to count as in use; absent: the cluster stays up without an owner.
   */
  owner?: ProcessRecord | undefined;
  /** Whether everything is running. */
  ready: boolean;
  server: string;
  kubectl: string;
  nodes: "real" | "simulated" | "none";
  simulatedNodes: number;
  whyNotReal?: string;
  processes: ProcessRecord[];
  /**
   * Folders of the machine to remove at the end if nobody uses them, inner folders first; absent: there is no real
   * node.
   */
  mountPoints?: string[];
  /** The bridge on the machine, and the command that created it and can remove it; absent: no real node was tried. */
  network?: { bridge: string; ip: string };
  /** Absent: there is no real node. */
  realNode?: RealNodeRecord | undefined;
}

/** A real node, for programs that import images into it. */
export interface RealNodeRecord {
  /** A busybox that needs no libraries. */
  busybox: string;
  /** The first process in the node's namespaces, and containerd's command; absent: the node has not started yet. */
  container?: { first: ProcessRecord; ctr: string };
}

/** The start of a cluster: its folder, the processes started so far, how to report progress, and how to abort. */
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

export function kubeconfigPath(stateDir: string): string {
  return join(stateDir, "kubeconfig");
}

/** Reads the record of the cluster in a folder; undefined: there is none. */
export function readRecord(stateDir: string): ClusterRecord | undefined {
  const path = join(stateDir, RECORD);
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
}

/** Writes the record atomically: a reader gets either the old one or the new one. */
export function writeRecord(stateDir: string, record: ClusterRecord): void {
  mkdirSync(stateDir, { recursive: true });
  const path = join(stateDir, RECORD);
  writeFileSync(`${path}.new`, JSON.stringify(record, null, 2), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** The root of the checkout that this file is in. */
export const CHECKOUT = fileURLToPath(new URL("../../", import.meta.url));

/** A note about a cluster of this user, outside of the cluster's folder. */
export interface Note {
  stateDir: string;
  /** The root of the checkout that started the cluster. Absent in notes of older checkouts. */
  checkout?: string;
  /** The record as of the last change. If the cluster's folder has a record too, that one counts. */
  record: ClusterRecord;
}

/** Returns the folder of the notes on this user's clusters. */
export function notesFolder(): string {
  return join(cacheFolder(), "clusters");
}

/** Writes the record of a cluster into its folder and into the note. To change a record, always use this function. */
export function saveCluster(stateDir: string, record: ClusterRecord, folder = notesFolder()): void {
  writeRecord(stateDir, record);
  noteCluster(folder, stateDir, record);
}

/**
 * Writes the note of a cluster.
 *
 * @param folder the folder of the notes; each cluster has a file in it
 * @param checkout the root of the checkout that started the cluster
 */
export function noteCluster(folder: string, stateDir: string, record: ClusterRecord, checkout = CHECKOUT): void {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${record.id}.json`);
  const note: Note = { stateDir, checkout, record };
  writeFileSync(`${path}.new`, JSON.stringify(note), { mode: 0o600 });
  renameSync(`${path}.new`, path);
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
