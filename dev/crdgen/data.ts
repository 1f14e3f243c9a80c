/** The data file: definitions of the API server's that our CRDs embed. Read here, written by refresh.ts. @module */
import { readFileSync } from "node:fs";
import type { EmbeddedDefinitions } from "./openapi.ts";

/** Where the definitions are kept. */
export const DATA_FILE = new URL("../../packages/api/data/kubernetes.json", import.meta.url);

/** Reads the definitions, with the version of Kubernetes that they come from. */
export function readDefinitions(): EmbeddedDefinitions {
  return JSON.parse(readFileSync(DATA_FILE, "utf8"));
}
