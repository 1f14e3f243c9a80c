/** Mutants of what keeps one team from using up hooks, binder and keeper, or their memory, by its objects. @module */
import type { Mutant } from "./mutant.ts";

const CLAIM_METRICS_TEST = ["test/keeper/claimmetrics.test.ts"];
const POOL_METRICS_TEST = ["test/keeper/poolmetrics.test.ts"];
const SANDBOX_METRICS_TEST = ["test/keeper/sandboxmetrics.test.ts"];
const CHILDREN_TEST = ["test/keeper/children.test.ts"];
const CROWDS_TEST = ["test/keeper/crowds.test.ts"];
const PROPORTION_TEST = ["test/proportion.test.ts"];
const INTAKE_TEST = ["test/webhook/alone/intake.test.ts"];
const FUZZED_HOOKS_TEST = ["test/fuzz/soak/hooks.test.ts"];

export const TEAM_LIMITS: readonly Mutant[] = [
  {
    name: "metrics of claims have a series for each template that there ever was",
    file: "packages/keeper/observability/claimmetrics.ts",
    from: "if (used.size <= MOST_SERIES) return;",
    to: "if (used.size > 0) return;",
    tests: CLAIM_METRICS_TEST,
  },
  {
    name: "one namespace's templates cost another's series",
    file: "packages/keeper/observability/claimmetrics.ts",
    from: "if (namespaceOf(dropped) !== crowd) continue;",
    to: "",
    tests: CLAIM_METRICS_TEST,
  },
  {
    name: "the name of a template makes a label of any length",
    file: "packages/keeper/observability/claimmetrics.ts",
    from: "return labelValue(sandbox?.template ?? UNKNOWN_NAME);",
    to: "return sandbox?.template ?? UNKNOWN_NAME;",
    tests: CLAIM_METRICS_TEST,
  },
  {
    name: "claims that wait make a series for each name that they think up",
    file: "packages/keeper/observability/poolmetrics.ts",
    from: "this.inc({ namespace, pool: labelValue(pool) });",
    to: "this.inc({ namespace, pool });",
    tests: POOL_METRICS_TEST,
  },
  {
    name: "what is known of a pool outlives the pool",
    file: "packages/keeper/observability/poolmetrics.ts",
    from: "if (known) served.delete(keyOf(known));",
    to: "",
    tests: POOL_METRICS_TEST,
  },
  {
    name: "something is kept of each pool that a claim names",
    file: "packages/keeper/observability/poolmetrics.ts",
    from: "if (isListed && !served.has(key)) return;",
    to: "",
    tests: POOL_METRICS_TEST,
  },
  {
    name: "a Sandbox's annotation makes a label of any length",
    file: "packages/keeper/observability/sandboxmetrics.ts",
    from: 'labelValue(metadata.annotations?.[TEMPLATE_REF_ANNOTATION] ?? "unknown")',
    to: 'metadata.annotations?.[TEMPLATE_REF_ANNOTATION] ?? "unknown"',
    tests: SANDBOX_METRICS_TEST,
  },
  {
    name: "sorts of Sandboxes are kept that no longer exist",
    file: "packages/keeper/observability/sandboxmetrics.ts",
    from: "if (counted.count === 0) sorts.delete(keyOf(counted.sort));",
    to: "",
    tests: SANDBOX_METRICS_TEST,
  },
  {
    name: "the keeper takes objects in the order in which they come, whose they are",
    file: "packages/kube/reconcilequeue.ts",
    from: "turns.add(namespace, uid, () => turn(queue, entry));",
    to: 'turns.add(namespace && "", uid, () => turn(queue, entry));',
    tests: ["test/kube/reconcilequeue.test.ts"],
  },
  {
    name: "each of many volumes is tried that a quota refuses",
    file: "packages/keeper/children.ts",
    from: "refused >= MOST_REFUSED) return",
    to: "refused < 0) return",
    tests: CHILDREN_TEST,
  },
  {
    name: "all children of a Sandbox are asked for at once",
    file: "packages/keeper/children.ts",
    from: "wantedChildren(sandbox), AT_ONCE,",
    to: "wantedChildren(sandbox), 10 * AT_ONCE,",
    tests: CHILDREN_TEST,
  },
  {
    name: "all volumes are asked for, however many there are",
    file: "packages/keeper/children.ts",
    from: ".slice(0, MOST_VOLUMES)",
    to: "",
    tests: CHILDREN_TEST,
  },
  {
    name: "volumes are made, however many there are",
    file: "hooks/sandbox/view.ts",
    from: "if (templates.length <= MOST_VOLUMES) return [];",
    to: "if (templates.length > 0) return [];",
    tests: ["test/hooks/sandbox/manyvolumes.test.ts"],
  },
  {
    name: "the keeper goes through all pools for each orphan",
    file: "packages/kube/store.ts",
    from: "byValue.get(placeOf(index, value))?.values() ?? [],",
    to: "[...byUid.values()].map(({ kept }) => kept).filter((kept) => placesOf(kept).includes(placeOf(index, value))),",
    tests: CROWDS_TEST,
  },
  {
    name: "metrics go through all Sandboxes of a claim at each event of one",
    file: "packages/keeper/observability/bindings.ts",
    from: "given.get(keyOf({ namespace: regarding.namespace, name: sandbox }))",
    to: "given.values().find(({ namespace, name }) => namespace === regarding.namespace && name === sandbox)",
    tests: CROWDS_TEST,
  },
  {
    name: "a hook compares each volume with all others",
    file: "hooks/sandbox/pvcs.ts",
    from: "return [...byName.values()];",
    to: "return (sandbox.spec.volumeClaimTemplates ?? []).filter((template, index, all) =>\n" +
      "    all.findIndex((other) => volumeName(other) === volumeName(template)) === index\n  );",
    tests: PROPORTION_TEST,
  },
  {
    name: "the binder compares each variable of a claim with all of the container",
    file: "packages/api/claims/request.ts",
    from: "[...wanted.values()].filter(({ name }) => !names.has(name))",
    to: "[...wanted.values()].filter(({ name }) => names && !before.some((variable) => variable.name === name))",
    tests: PROPORTION_TEST,
  },
  {
    name: "a merge compares each item of a list with all others",
    file: "packages/api/objects/apply.ts",
    from: "new Set(desiredKeys).difference(new Set(observedKeys))",
    to: "desiredKeys.filter((text) => !observedKeys.includes(text))",
    tests: PROPORTION_TEST,
  },
  {
    name: "an object that cannot be read ends the watch of all",
    file: "packages/kube/watch.ts",
    from: 'log("warn", "Cannot read an object", { path, uid: uidOf(object) });',
    to: "throw new Error(`Cannot read an object of ${path}`, { cause: log });",
    tests: ["test/fuzz/soak/objects.test.ts"],
  },
  {
    name: "a hook logs the request that it cannot answer",
    file: "packages/webhook/reply.ts",
    from: "return { ...failureOf(error), request };",
    to: "return { ...failureOf(error), request, cause: { request } };",
    tests: FUZZED_HOOKS_TEST,
  },
  {
    name: "a hook answers with the body that it cannot parse",
    file: "packages/webhook/reply.ts",
    from: 'new BodyError("Cannot parse the body: it is not JSON")',
    to: "new BodyError(`Cannot parse the body: ${text}`)",
    tests: FUZZED_HOOKS_TEST,
  },
  {
    name: "a hook parses a body, whatever is in it",
    file: "packages/webhook/intake.ts",
    from: "if (weight.total > maxBodyWeight) throw tooHeavy(weight);",
    to: "",
    tests: INTAKE_TEST,
  },
  {
    name: "a hook holds any number of bodies at a time",
    file: "packages/webhook/intake.ts",
    from: "if (held > maxHeldWeight) throw",
    to: "if (held < 0) throw",
    tests: INTAKE_TEST,
  },
  {
    name: "a message may be too long for the API server",
    file: "packages/api/objects/conditions.ts",
    from: "message: cutText(whole, LONGEST_MESSAGE)",
    to: "message: whole",
    tests: ["test/api/objects/conditions.test.ts"],
  },
];
