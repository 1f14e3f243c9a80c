/** The CRDs that a local cluster needs before anything else: Metacontroller's own and ours. Reads files, no more. @module */
import { readFileSync } from "node:fs";
import { readCRDs } from "../packages/manifests/render.ts";

/** Returns them as YAML texts, as `startCluster` takes them: the garbage collector then knows our kinds from the start. */
export function localCRDs(): string[] {
  return [readFileSync(new URL("metacontroller/crds.yaml", import.meta.url), "utf8"), ...readCRDs()];
}
