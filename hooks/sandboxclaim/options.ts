/** The options of the SandboxClaim hook, and the settings that they become. @module */
import {
  ANNOTATION_DOMAINS_HELP,
  ANY_ANNOTATION_DOMAIN,
  readAnnotationDomains,
  readDomains,
} from "../../packages/api/claims/podmetadata.ts";
import type { Options } from "../../packages/webhook/options.ts";

/** The settings of the SandboxClaim hook. */
export interface ClaimConfig {
  /** Domains of label keys that claims may add to Pods. */
  allowedLabelDomains: readonly string[];
  /** Domains of annotation keys that claims may add to Pods; undefined: all that are not reserved. */
  allowedAnnotationDomains?: readonly string[] | undefined;
}

/** Its command line. */
export const OPTIONS: Options<Required<ClaimConfig>> = {
  allowedLabelDomains: {
    ...{ flag: "allowed-label-domains", placeholder: "D,E", default: "sandbox.users.io" },
    help: "domains of label keys that claims may add to Pods",
    read: readDomains,
  },
  allowedAnnotationDomains: {
    ...{ flag: "allowed-annotation-domains", placeholder: "D,E", default: ANY_ANNOTATION_DOMAIN },
    help: ANNOTATION_DOMAINS_HELP.join(" "),
    read: readAnnotationDomains,
  },
};
