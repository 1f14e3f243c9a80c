/** Mutants of what the keeper deletes, adopts and gives back. @module */
import type { Mutant } from "./mutant.ts";

const EXPIRY_TEST = ["test/keeper/expiry.test.ts"];
const GIVEBACK_TEST = ["test/keeper/readopt.test.ts"];
const CLAIM_SANDBOXES_TEST = ["test/keeper/claimsandboxes.test.ts"];
const DIAGNOSE_TEST = ["test/keeper/diagnose.test.ts"];

export const KEEPER: readonly Mutant[] = [
  {
    name: "an expiry of a spec that has changed since is carried out",
    file: "packages/api/expiry.ts",
    from: "return ready.observedGeneration === undefined || ready.observedGeneration === metadata.generation;",
    to: "return metadata !== undefined;",
    tests: EXPIRY_TEST,
  },
  {
    name: "a Sandbox is deleted a second before its time",
    file: "packages/keeper/expiry.ts",
    from: "return until > now ?",
    to: "return until > now + 1000 ?",
    tests: EXPIRY_TEST,
  },
  {
    name: "a claim that is to be retained is deleted",
    file: "packages/keeper/expiry.ts",
    from: 'return policy === "DeleteForeground" ? "Foreground" : undefined;',
    to: 'return "Foreground";',
    tests: ["test/keeper/claimexpiry.test.ts"],
  },
  {
    name: "what has changed since it was judged is deleted",
    file: "packages/keeper/expiry.ts",
    from: "preconditions: { uid, resourceVersion }",
    to: "preconditions: { uid }",
    tests: EXPIRY_TEST,
  },
  {
    name: "another of the same name is deleted",
    file: "packages/keeper/expiry.ts",
    from: "preconditions: { uid, resourceVersion }",
    to: "preconditions: { resourceVersion }",
    tests: EXPIRY_TEST,
  },
  {
    name: "what a claim has had goes to a pool",
    file: "packages/keeper/readopt.ts",
    from: " || labels[CLAIM_UID_LABEL] !== undefined;",
    to: ";",
    tests: GIVEBACK_TEST,
  },
  {
    name: "an orphan brings its own word of how it was made",
    file: "packages/keeper/readopt.ts",
    from: "{ labels, annotations: { [LAST_APPLIED_ANNOTATION]: null } }",
    to: "{ labels }",
    tests: GIVEBACK_TEST,
  },
  {
    name: "an orphan goes to a pool of another namespace",
    file: "packages/keeper/readopt.ts",
    from: "pool.namespace === sandbox.metadata.namespace && ",
    to: "",
    tests: GIVEBACK_TEST,
  },
  {
    name: "a Sandbox goes to a claim that was made anew under its name",
    file: "packages/keeper/readopt.ts",
    from: "claim?.metadata.uid === owner.uid && claim.metadata",
    to: "claim?.metadata",
    tests: GIVEBACK_TEST,
  },
  {
    name: "any Pod of the name is adopted",
    file: "packages/keeper/diagnose.ts",
    from: 'labels[ADOPTABLE_LABEL] === "true" ||',
    to: 'labels[ADOPTABLE_LABEL] !== "x" ||',
    tests: DIAGNOSE_TEST,
  },
  {
    name: "what another Sandbox controls is adopted",
    file: "packages/keeper/diagnose.ts",
    from: "  if (owner) {",
    to: '  if (owner && owner.kind !== "Sandbox") {',
    tests: DIAGNOSE_TEST,
  },
  {
    name: "what a suspended Sandbox does not control is adopted",
    file: "packages/keeper/diagnose.ts",
    from: 'sandbox.spec.operatingMode === "Suspended"',
    to: 'sandbox.metadata.name === ""',
    tests: DIAGNOSE_TEST,
  },
  {
    name: "a NetworkPolicy is a template's by the owner's name",
    file: "packages/keeper/networkpolicy.ts",
    from: "controllerOf(found.metadata)?.uid === metadata.uid",
    to: "controllerOf(found.metadata)?.name === metadata.name",
    tests: ["test/keeper/networkpolicy.test.ts"],
  },
  {
    name: "an object that one event handler cannot read breaks the watch for all",
    file: "packages/kube/watch.ts",
    from: 'log("error", `Cannot take note for ${name}`, errorFields(error));',
    to: "throw error;",
    tests: ["test/keeper/watches.test.ts"],
  },
  {
    name: "a claim that has expired is woken for ever",
    file: "packages/keeper/claimsandboxes.ts",
    from: "if (others.length > 0 || !only.told || isExpired) return false;",
    to: "if (others.length > 0 || !only.told) return false;",
    tests: CLAIM_SANDBOXES_TEST,
  },
  {
    name: "a claim that says that it is Ready is believed whatever its Sandbox says",
    file: "packages/keeper/claimsandboxes.ts",
    from: "return told.ready !== only.told.ready && !isOwn(ready);",
    to: 'return told.ready !== only.told.ready && ready.status === "False" && !isOwn(ready);',
    tests: CLAIM_SANDBOXES_TEST,
  },
  {
    name: "a claim that shows addresses which its Sandbox no longer has is believed",
    file: "packages/keeper/claimsandboxes.ts",
    from: " || told.podIPs !== only.told.podIPs) return true;",
    to: ") return true;",
    tests: CLAIM_SANDBOXES_TEST,
  },
  {
    name: "a claim keeps the error that its Sandbox had",
    file: "packages/keeper/claimsandboxes.ts",
    from: 'reason === "ReconcilerError" && isMetadataConflict(message)',
    to: 'reason === "ReconcilerError"',
    tests: CLAIM_SANDBOXES_TEST,
  },
  {
    name: "a keeper that comes after another wakes everything once more",
    file: "packages/keeper/rollouts.ts",
    from: "if (isOlder && !isWoken && ",
    to: "if (isOlder && ",
    tests: ["test/keeper/rollouts.test.ts"],
  },
  {
    name: "what waits for an answer to its last change is not woken",
    file: "packages/keeper/wake.ts",
    from: "(parent.status?.observedGeneration ?? Infinity) < generationOf(parent)",
    to: "(parent.status?.observedGeneration ?? Infinity) > generationOf(parent)",
    tests: ["test/keeper/wake.test.ts"],
  },
];
