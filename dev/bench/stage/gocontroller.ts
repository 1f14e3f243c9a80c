/** Runs the Go controller of kubernetes-sigs/agent-sandbox from a binary. @module */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { startProcess, untilAnswering } from "../../cluster/processes.ts";
import { definitionsIn } from "../../cluster/api.ts";
import { freePorts } from "../../cluster/ports.ts";
import type { Controllers } from "./local.ts";

/** All other flags have the Go controller's defaults. */
const FLAGS = ["--extensions", "--leader-elect=false", "--enable-webhook=false"];

/**
 * Prepares the Go controller to be run.
 *
 * @param binary path of the controller
 * @param folder folder of its CRDs, as YAML
 * @throws {RangeError} if the controller is not an executable file, or the folder contains no CRDs
 */
export function goControllers(binary: string, folder: string): Controllers {
  const command = resolve(binary);
  const stat = statSync(command, { throwIfNoEntry: false });
  if (!stat?.isFile() || (stat.mode & 0o111) === 0) {
    throw new RangeError(`Cannot run the Go controller: ${command} is not a program`);
  }
  const crds = readGoControllerCRDs(folder);
  return {
    crds: () => Promise.resolve(crds),
    async start({ cluster, folder, started, signal }) {
      const [metrics, health] = await freePorts(2);
      const record = startProcess({
        name: "peer",
        command,
        args: [
          ...FLAGS,
          `--kubeconfig=${cluster.kubeconfig}`,
          `--metrics-bind-address=127.0.0.1:${metrics}`,
          `--health-probe-bind-address=127.0.0.1:${health}`,
        ],
        logFile: join(folder, "logs", "peer.log"),
      });
      started.push(record);
      await untilAnswering(`http://127.0.0.1:${health}/readyz`, record, signal);
      return { hookURLs: [], metacontrollers: [] };
    },
  };
}

/** Reads the CRDs of a folder, without their conversion: the webhook for it does not run. */
export function readGoControllerCRDs(folder: string): string[] {
  const files = (existsSync(folder) ? readdirSync(folder) : []).filter((file) => file.endsWith(".yaml")).sort();
  const definitions = definitionsIn(files.map((file) => readFileSync(join(folder, file), "utf8")));
  if (definitions.length === 0) throw new RangeError(`Cannot run the Go controller: there are no CRDs in ${folder}`);
  return definitions.map((definition) => {
    const { conversion: _, ...spec } = (definition as { spec?: { conversion?: unknown } }).spec ?? {};
    return JSON.stringify({ ...definition, spec });
  });
}
