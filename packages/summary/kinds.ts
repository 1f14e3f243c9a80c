/** hookbox's kinds and their names on the command line. Data only, so that no schemas are loaded. @module */
import type { ObjectPath } from "../kube/api.ts";

/** One of hookbox's kinds. */
export interface Kind {
  kind: "Sandbox" | "SandboxClaim" | "SandboxWarmPool" | "SandboxTemplate";
  resource: ObjectPath["resource"];
  /** Singular and group, as `-o name` prints it. */
  qualified: string;
  /** All its names, in lower case; the first is shown to users. */
  words: string[];
}

const EXTENSIONS = "extensions.agents.x-k8s.io";

export const SANDBOX: Kind = {
  kind: "Sandbox",
  resource: "sandboxes",
  qualified: "sandbox.agents.x-k8s.io",
  words: ["sandboxes", "sandbox", "sbx", "sb"],
};
export const CLAIM: Kind = {
  kind: "SandboxClaim",
  resource: "sandboxclaims",
  qualified: `sandboxclaim.${EXTENSIONS}`,
  words: ["claims", "claim", "sandboxclaims", "sandboxclaim", "sbxc"],
};
export const POOL: Kind = {
  kind: "SandboxWarmPool",
  resource: "sandboxwarmpools",
  qualified: `sandboxwarmpool.${EXTENSIONS}`,
  words: ["pools", "pool", "sandboxwarmpools", "sandboxwarmpool", "swp"],
};
export const TEMPLATE: Kind = {
  kind: "SandboxTemplate",
  resource: "sandboxtemplates",
  qualified: `sandboxtemplate.${EXTENSIONS}`,
  words: ["templates", "template", "sandboxtemplates", "sandboxtemplate", "sbxt"],
};

export const KINDS: readonly Kind[] = [SANDBOX, CLAIM, POOL, TEMPLATE];

/** Returns the kind with this name; undefined if there is none. */
export function findKind(word: string): Kind | undefined {
  const [name = ""] = word.toLowerCase().split(".");
  return KINDS.find(({ words }) => words.includes(name));
}
