/**
 * Reads the CRDs that a local cluster needs before anything else: Metacontroller's and hookbox's. The bench loads this
 * file from other checkouts too, so it must not be moved. @module
 */
import { readFileSync } from "node:fs";
import { readCRDs } from "../packages/manifests/render.ts";

/**
 * Returns the CRDs as YAML texts for `startCluster`, so that the garbage collector knows hookbox's kinds from the
 * start.
 */
export function localCRDs(): string[] {
  return [readFileSync(new URL("metacontroller/crds.yaml", import.meta.url), "utf8"), ...readCRDs()];
}
