/** What a cluster wrote down about itself, so that another process can find it or clear it away. @module */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProcessRecord } from "./processes.ts";

/** Name of the file in the cluster's folder. */
export const RECORD = "cluster.json";

export interface ClusterRecord {
  /** Eight hexadecimal digits; part of every name that the cluster takes outside its folder. */
  id: string;
  /** Whoever has to be alive for the cluster to be in use; absent if it stays up on its own. */
  owner?: ProcessRecord | undefined;
  /** Whether everything that was asked for is running. */
  ready: boolean;
  server: string;
  kubectl: string;
  nodes: "real" | "simulated" | "none";
  simulatedNodes: number;
  whyNotReal?: string;
  processes: ProcessRecord[];
  /** Folders of the machine to remove at the end if nobody uses them, inner ones first; absent without a real node. */
  mountPoints?: string[];
  /** The machine's bridge, and the command that made it and can remove it; absent where no real node was tried. */
  network?: { bridge: string; ip: string };
  /** Absent without a real node. */
  realNode?: RealNodeRecord | undefined;
}

/** A real node, for those who bring images into it. */
export interface RealNodeRecord {
  /** A busybox that needs no libraries. */
  busybox: string;
  /** The first process inside the node's namespaces, and containerd's command; absent until the node has begun. */
  container?: { first: ProcessRecord; ctr: string };
}

export function kubeconfigPath(stateDir: string): string {
  return join(stateDir, "kubeconfig");
}

/** Reads the record of the cluster in a folder; `undefined` if there is none. */
export function readRecord(stateDir: string): ClusterRecord | undefined {
  const path = join(stateDir, RECORD);
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
}

/** Writes the record whole: a reader sees the old one or the new one. */
export function writeRecord(stateDir: string, record: ClusterRecord): void {
  mkdirSync(stateDir, { recursive: true });
  const path = join(stateDir, RECORD);
  writeFileSync(`${path}.new`, JSON.stringify(record, null, 2), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}
