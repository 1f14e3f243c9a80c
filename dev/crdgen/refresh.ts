/** Fetches the embedded definitions again: --kubeconfig FILE or --server URL (kubectl proxy). @module */
import { writeFileSync } from "node:fs";
import process from "node:process";
import { parseArgs } from "node:util";
import { DATA_FILE } from "./openapi.ts";
import { fetchDefinitions, fromKubeconfig, fromServer } from "./fetch.ts";

const { kubeconfig, server } = parseArgs({ options: { kubeconfig: { type: "string" }, server: { type: "string" } } })
  .values;
if ((kubeconfig === undefined) === (server === undefined)) {
  throw new TypeError("Cannot choose an API server: give one of --kubeconfig FILE and --server URL");
}
const data = await fetchDefinitions(server === undefined ? fromKubeconfig(kubeconfig ?? "") : fromServer(server));
writeFileSync(DATA_FILE, `${JSON.stringify(data, null, 1)}\n`);
process.stdout.write(`wrote ${Object.keys(data.definitions).length} definitions of Kubernetes ${data.kubernetes}\n`);
