/** The kinds of ours, and the words that people have for them. Data only: no schemas are loaded for it. @module */
import type { ObjectPath } from "../kube/api.ts";

/** A kind of ours. */
export interface Kind {
  kind: "Sandbox" | "SandboxClaim" | "SandboxWarmPool" | "SandboxTemplate";
  resource: ObjectPath["resource"];
  /** Singular and group, as `-o name` prints it. */
  qualified: string;
  /** All it may be called, lower case; the first is shown to people. */
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

/** Returns the kind of a word; undefined if it is none. */
export function findKind(word: string): Kind | undefined {
  const [name = ""] = word.toLowerCase().split(".");
  return KINDS.find(({ words }) => words.includes(name));
}
