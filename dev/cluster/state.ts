/** The record of a cluster, with which another process can find or remove the cluster. @module */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProcessRecord } from "./processes.ts";

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
