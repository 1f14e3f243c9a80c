/** The options of the SandboxClaim hook, and the settings that they become. @module */
import type { Options } from "../../packages/webhook/options.ts";

/** The settings of the SandboxClaim hook. */
export interface ClaimConfig {
  /** Domains of label keys that claims may add to Pods. */
  labelDomains: readonly string[];
}

/** Its command line. */
export const OPTIONS: Options<ClaimConfig> = {
  labelDomains: {
    ...{ flag: "allowed-label-domains", placeholder: "D,E", default: "sandbox.users.io" },
    help: "domains of label keys that claims may add to Pods",
    read: (text) => text.split(",").map((domain) => domain.trim()).filter(Boolean),
  },
};
