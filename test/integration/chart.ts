/** What Helm makes of the chart. @module */
import { execFile } from "node:child_process";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { findPrograms } from "../../dev/cluster/binaries.ts";
import { HELM } from "../../dev/cluster/programs.ts";
import { makeTempFolder } from "../tempfolder.ts";
import type { Loose } from "./namespace.ts";

export const DEPLOY = fileURLToPath(new URL("../../deploy", import.meta.url));
/** The keeper's Deployment, as {@link byName} names it. */
export const KEEPER = "Deployment hookbox-system/hookbox-keeper";

/** Runs Helm and returns what it prints; a first call builds it. @throws {Error} in its words if it fails */
export async function helm(...args: string[]): Promise<string> {
  const progress = (line: string) => void process.stdout.write(`chart: ${line}\n`);
  const { helm = "helm" } = await findPrograms(HELM, { progress });
  const { stdout } = await promisify(execFile)(helm, args, { maxBuffer: 10_000_000 });
  return stdout;
}

/** Returns the objects that the chart makes. @param args of `helm template` */
export async function template(...args: string[]): Promise<Loose[]> {
  const text = await helm("template", "hookbox", `${DEPLOY}/chart`, "--namespace", "hookbox-system", ...args);
  return parseAllDocuments(text).map((document) => document.toJS()).filter((object) => object !== null);
}

/**
 * Returns the objects that an upgrade would make of what the cluster has. Those of Metacontroller are left out: not every
 * cluster knows their kinds.
 *
 * @param args of `helm template`
 */
export async function templateOn({ kubeconfig }: { kubeconfig: string }, ...args: string[]): Promise<Loose[]> {
  const chart = join(makeTempFolder(), "chart");
  cpSync(`${DEPLOY}/chart`, chart, { recursive: true, dereference: true });
  rmSync(join(chart, "templates/controllers.yaml"));
  const live = ["--dry-run=server", "--is-upgrade", "--kubeconfig", kubeconfig];
  const text = await helm("template", "hookbox", chart, ...live, ...args);
  return parseAllDocuments(text).map((document) => document.toJS()).filter((object) => object !== null);
}

/** Names an object: `Kind namespace/name`. */
export function nameOf({ kind, metadata }: Loose): string {
  return `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;
}

/** Objects by their names. */
export function byName(list: Loose[]): Record<string, Loose> {
  return Object.fromEntries(list.map((object) => [nameOf(object), object]));
}
