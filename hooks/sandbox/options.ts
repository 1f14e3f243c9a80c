/** The options of the Sandbox hook, and the settings that they become. @module */
import { type Options, textOption } from "../../packages/webhook/options.ts";

/** What an installation decides for all its Sandboxes. */
export interface SandboxConfig {
  /** DNS domain of the cluster, the last part of `status.serviceFQDN`: `cluster.local`. */
  clusterDomain: string;
}

/** Its command line. */
export const OPTIONS: Options<SandboxConfig> = {
  clusterDomain: textOption({
    ...{ flag: "cluster-domain", placeholder: "D", default: "cluster.local", help: "DNS domain of the cluster" },
  }),
};
