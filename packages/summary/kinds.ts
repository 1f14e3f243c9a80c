/** hookbox's kinds and their names on the command line. Data only, so that no schemas are loaded. @module */
import type { ObjectPath } from "../kube/api.ts";

/** One of hookbox's kinds. */
export interface Kind {
  kind: "Sandbox" | "SandboxClaim" | "SandboxWarmPool" | "SandboxTemplate";
  resource: ObjectPath["resource"];
  /** Singular name and API group, as `-o name` prints them: `sandbox.agents.x-k8s.io`. */
  qualified: string;
  /** All names that users may type, in lower case. hookbox itself prints the first one. */
  names: string[];
}

const EXTENSIONS = "extensions.agents.x-k8s.io";

export const SANDBOX: Kind = {
  kind: "Sandbox",
  resource: "sandboxes",
  qualified: "sandbox.agents.x-k8s.io",
  names: ["sandboxes", "sandbox", "sbx", "sb"],
};
export const CLAIM: Kind = {
  kind: "SandboxClaim",
  resource: "sandboxclaims",
  qualified: `sandboxclaim.${EXTENSIONS}`,
  names: ["claims", "claim", "sandboxclaims", "sandboxclaim", "sbxc"],
};
export const POOL: Kind = {
  kind: "SandboxWarmPool",
  resource: "sandboxwarmpools",
  qualified: `sandboxwarmpool.${EXTENSIONS}`,
  names: ["pools", "pool", "sandboxwarmpools", "sandboxwarmpool", "swp"],
};
export const TEMPLATE: Kind = {
  kind: "SandboxTemplate",
  resource: "sandboxtemplates",
  qualified: `sandboxtemplate.${EXTENSIONS}`,
  names: ["templates", "template", "sandboxtemplates", "sandboxtemplate", "sbxt"],
};

export const KINDS: readonly Kind[] = [SANDBOX, CLAIM, POOL, TEMPLATE];

/** Returns the kind with this name, with or without an API group; undefined: no kind has it. */
export function findKind(text: string): Kind | undefined {
  const [name = ""] = text.toLowerCase().split(".");
  return KINDS.find(({ names }) => names.includes(name));
}
