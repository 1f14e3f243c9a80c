/** Runs an image registry on this machine, from which the real node of a local cluster can pull images. @module */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { endGently, startProcess, untilAnswering } from "../cluster/processes.ts";
import { ensurePackages } from "../cluster/machine.ts";
import { freePorts } from "../cluster/ports.ts";
import { REGISTRIES_FOLDER } from "../cluster/nodeconfig.ts";
import { readRecord, saveCluster } from "../cluster/state.ts";

/** CNCF distribution, from Debian's package `docker-registry`. */
const PROGRAM = "/usr/bin/docker-registry";

/** A running registry. */
export interface Registry {
  /** Host and port, with which the names of its images begin. */
  address: string;
  stop(): Promise<void>;
}

/**
 * Starts a registry that belongs to the cluster in a folder. It listens at the machine's address in the cluster's
 * network, and the node is configured to trust it without TLS.
 *
 * @throws {Error} if the cluster has no real node, or if the registry cannot be installed or does not answer
 */
export async function startRegistry(stateDir: string, signal: AbortSignal): Promise<Registry> {
  const record = readRecord(stateDir);
  if (!record?.realNode) throw new Error(`Cannot start a registry for ${stateDir}: its cluster has no real node`);
  ensurePackages({ "docker-registry": PROGRAM });
  const [port = 0] = await freePorts(1);
  const address = `${new URL(record.server).hostname}:${port}`;
  const trust = join(stateDir, "node", REGISTRIES_FOLDER, address);
  mkdirSync(trust, { recursive: true });
  const url = `http://${address}`;
  writeFileSync(
    join(trust, "hosts.toml"),
    `server = "${url}"\n\n[host."${url}"]\ncapabilities = ["pull", "resolve"]\n`,
  );
  const config = join(stateDir, "registry.yaml");
  const storage = { filesystem: { rootdirectory: join(stateDir, "registry") } };
  writeFileSync(config, stringify({ version: 0.1, storage, http: { addr: address } }));
  const logFile = join(stateDir, "logs", "registry.log");
  const started = startProcess({ name: "registry", command: PROGRAM, args: ["serve", config], logFile });
  const now = readRecord(stateDir) ?? record;
  saveCluster(stateDir, { ...now, processes: [...now.processes, started] });
  await untilAnswering(`${url}/v2/`, started, signal);
  return { address, stop: () => endGently(started) };
}
