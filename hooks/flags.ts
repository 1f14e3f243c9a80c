/**
 * Defines the options of all hooks. Every hook accepts all options, so that the same command line starts each of them.
 * A hook uses only its own options. The pure functions of the hooks import only types from this file. @module
 */
import * as z from "zod";
import { flag, type FlagType, number, section, TEXT, type Values, wholeNumber } from "../packages/process/flags.ts";
import { CLAIM_METADATA_FLAGS, TEMPLATE_NETWORK_POLICY } from "../packages/process/sharedflags.ts";
import { SERVER_FLAGS } from "../packages/webhook/serveroptions.ts";

/** Options of the Sandbox hook. They apply to all Sandboxes of an installation. */
export const SANDBOX_FLAGS = section("Of the hook sandbox", {
  "cluster-domain": flag(TEXT, {
    help: "DNS domain of the cluster, the last part of status.serviceFQDN",
    ...{ since: "0.1.0", placeholder: "D", default: "cluster.local" },
  }),
});

export const CLAIM_FLAGS = section("Of the hook sandboxclaim", CLAIM_METADATA_FLAGS);

const cidrSchema = z.union([z.cidrv4(), z.cidrv6()]);
/**
 * A list of networks. `/0` is refused: with a network of all addresses in a policy, the API server would refuse every
 * policy.
 */
const CIDRS: FlagType<string[]> = {
  ...{
    name: "list of networks",
    placeholder: "C,D",
    allowed: "networks such as 100.64.0.0/10, with commas between them",
  },
  read(text, refuse) {
    const cidrs = text.split(",").map((cidr) => cidr.trim()).filter(Boolean);
    return cidrs.every((cidr) => cidrSchema.safeParse(cidr).success && !cidr.endsWith("/0")) ? cidrs : refuse();
  },
};

export const TEMPLATE_FLAGS = section("Of the hook sandboxtemplate", {
  "denied-egress-cidrs": flag(CIDRS, {
    help:
      "networks that the default NetworkPolicy blocks in addition to private ones, in CIDR notation; a template with " +
      "rules of its own is not affected",
    ...{ since: "0.3.0", default: "" },
  }),
});

const since = "0.1.0";

export const WARM_POOL_FLAGS = section("Of the hook sandboxwarmpool", {
  "readiness-grace-seconds": flag(number(), {
    help: "how long a new sandbox may take to become Ready before it is replaced, if its pool does not set this",
    ...{ since, placeholder: "S", default: "300" },
  }),
  "max-batch-size": flag(wholeNumber(1), {
    help: "most Sandboxes that one answer creates, or marks for deletion",
    ...{ since, default: "300" },
  }),
  "max-refill-rate": flag(number(), {
    help: "most Sandboxes created per second for one pool; 0: no limit",
    ...{ since, placeholder: "R", default: "0" },
  }),
  "replenish-delay-seconds": flag(number(), {
    help: "how long a pool waits before it replaces Sandboxes that it has lost",
    ...{ since, placeholder: "S", default: "0" },
  }),
  "pool-interval-ms": flag(number(), {
    help:
      "shortest time between two answers for one pool, in milliseconds. Changes of members in between are answered " +
      "together. 0: no such time. Claims do not wait for it",
    ...{ since, default: "1000" },
  }),
  "template-network-policy": TEMPLATE_NETWORK_POLICY,
});

/** The options of every process that serves hooks. */
export const HOOK_FLAGS = { ...SERVER_FLAGS, ...SANDBOX_FLAGS, ...CLAIM_FLAGS, ...TEMPLATE_FLAGS, ...WARM_POOL_FLAGS };

/**
 * The settings of all hooks and of their server: the values of the options of `hookbox serve`
 * (docs/reference/flags.md). Each setting is named like its option: `--max-batch-size` sets `maxBatchSize`.
 */
export type HookSettings = Values<typeof HOOK_FLAGS>;
/** The settings of the Sandbox hook. */
export type SandboxConfig = Values<typeof SANDBOX_FLAGS>;
/** The settings of the SandboxClaim hook. */
export type ClaimConfig = Values<typeof CLAIM_FLAGS>;
/** The settings of the SandboxTemplate hook. */
export type TemplateConfig = Values<typeof TEMPLATE_FLAGS>;
/** The settings of the SandboxWarmPool hook. */
export type WarmPoolConfig = Values<typeof WARM_POOL_FLAGS>;
