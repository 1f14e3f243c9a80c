/** The options of the SandboxTemplate hook, and the settings that they become. @module */
import * as z from "zod";
import type { Options } from "../../packages/webhook/options.ts";

/** The settings of the SandboxTemplate hook. */
export interface TemplateConfig {
  /** Networks, in CIDR notation, that the default rules block in addition to the contract's. */
  deniedEgressCidrs: readonly string[];
}

const FLAG = "denied-egress-cidrs";
const cidrSchema = z.union([z.cidrv4(), z.cidrv6()]);

/** Its command line. */
export const OPTIONS: Options<TemplateConfig> = {
  deniedEgressCidrs: {
    ...{ flag: FLAG, placeholder: "C,D", default: "" },
    help: "networks that the default NetworkPolicy blocks in addition to private ones, in CIDR notation; a template " +
      "with rules of its own is not affected",
    read: (text) => text.split(",").map((cidr) => cidr.trim()).filter(Boolean).map(readCIDR),
  },
};

/** @throws {RangeError} if the text is no network, or is all networks: the API server would refuse every policy */
function readCIDR(text: string): string {
  if (cidrSchema.safeParse(text).success && !text.endsWith("/0")) return text;
  throw new RangeError(`Cannot use --${FLAG} "${text}": it is not a network such as 100.64.0.0/10`);
}
