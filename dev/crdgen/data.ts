/** Reads the data file with the API server's definitions that the CRDs embed. refresh.ts writes it. @module */
import { readFileSync } from "node:fs";
import type { EmbeddedDefinitions } from "./openapi.ts";

/** Where the definitions are kept. */
export const DATA_FILE = new URL("../../packages/api/data/kubernetes.json", import.meta.url);

/** Reads the definitions, and the Kubernetes version from which they come. */
export function readDefinitions(): EmbeddedDefinitions {
  return JSON.parse(readFileSync(DATA_FILE, "utf8"));
}
