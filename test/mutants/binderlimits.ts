/** Mutants of what keeps one from harming the others by the binder: refusals, writes on pools, and how much is kept. @module */
import type { Mutant } from "./mutant.ts";

const REFUSED_TEST = ["test/binder/refused.test.ts"];
const MANY_TEST = ["test/binder/manypools.test.ts"];
const TOLD_TEST = ["test/binder/toldpools.test.ts"];
const DELIVER_TEST = ["test/binder/deliver.test.ts"];
const LARGE_TEST = ["test/binder/alone/large.test.ts"];

export const BINDER_LIMITS: readonly Mutant[] = [
  {
    name: "a member that may not be changed is offered again at once",
    file: "packages/binder/filter.ts",
    from: "if (first !== claim) aside.set(sandbox, until);",
    to: "",
    tests: REFUSED_TEST,
  },
  {
    name: "one claim sets members aside for all",
    file: "packages/binder/filter.ts",
    from: "if (first !== claim) aside.set",
    to: "aside.set",
    tests: REFUSED_TEST,
  },
  {
    name: "a claim is given all members in turn that are refused to it",
    file: "packages/binder/filter.ts",
    from: " && refused.length < MOST_REFUSED",
    to: "",
    tests: REFUSED_TEST,
  },
  {
    name: "a trace context of any length is copied",
    file: "packages/binder/boundsandbox.ts",
    from: " || trace.length > LONGEST_TRACE",
    to: "",
    tests: ["test/binder/boundsandbox.test.ts"],
  },
  {
    name: "what a binder before this one has bound is not written on pools",
    file: "packages/binder/binder.ts",
    from: "if ((pool.status?.replicas ?? 0) > all) recordLoss(binder, pool);",
    to: "",
    tests: TOLD_TEST,
  },
  {
    name: "word of a pool that is gone is kept for ever",
    file: "packages/binder/state.ts",
    from: "if (index.pools.get(namespace, name)?.metadata.uid === uid) unreportedLosses",
    to: "unreportedLosses",
    tests: TOLD_TEST,
  },
  {
    name: "all pools that are short are updated at once",
    file: "packages/kube/workqueue.ts",
    from: "while (all < most)",
    to: "while (true)",
    tests: MANY_TEST,
  },
  {
    name: "pools without a template get what they lack written on them",
    file: "packages/binder/refills.ts",
    from: "return hasTemplate && members",
    to: "return members",
    tests: MANY_TEST,
  },
  {
    name: "pools of one namespace are updated before those of any other",
    file: "packages/kube/workqueue.ts",
    from: "    queue.delete(key);\n",
    to: "    if (isEmpty(group)) queue.delete(key);\n",
    tests: MANY_TEST,
  },
  {
    name: "a pool that was created again under its name gets the old one's members written on it",
    file: "packages/binder/replacements.ts",
    from: "metadata: { uid, annotations }",
    to: "metadata: { annotations }",
    tests: TOLD_TEST,
  },
  {
    name: "a pool that is short gets written on it that claims have taken its members",
    file: "packages/binder/replacements.ts",
    from: "const annotations = hasLost\n",
    to: "const annotations = (hasLost || members >= 0)\n",
    tests: TOLD_TEST,
  },
  {
    name: "what could not be written on a pool is never written",
    file: "packages/binder/replacements.ts",
    from: "if (hasLost) recordLoss",
    to: "if (!hasLost) recordLoss",
    tests: TOLD_TEST,
  },
  {
    name: "claims are kept whole however large they are",
    file: "packages/binder/state.ts",
    from: "if (!isHooks && !isLarge(raw, MOST_KEPT)) return;",
    to: "if (!isHooks) return;",
    tests: LARGE_TEST,
  },
  {
    name: "claims that are bound are kept whole",
    file: "packages/binder/state.ts",
    from: "if (!isHooks && !isLarge(raw, MOST_KEPT)) return;",
    to: "if (!isLarge(raw, MOST_KEPT)) return;",
    tests: LARGE_TEST,
  },
  {
    name: "a claim that is kept as a projection is served by that",
    file: "packages/binder/schedule.ts",
    from: 'if (mustRead(binder, entry) || choice.kind === "unknown") return',
    to: 'if (choice.kind === "unknown") return',
    tests: LARGE_TEST,
  },
  {
    name: "of a large template a claim is judged by the outline",
    file: "packages/binder/schedule.ts",
    from: 'if (candidates.template && isProjection(candidates.template)) return { kind: "unknown" };',
    to: "",
    tests: LARGE_TEST,
  },
  {
    name: "large members are kept whole",
    file: "packages/binder/clusterindex.ts",
    from: "members.put(projectMember(sandbox))",
    to: "members.put(sandbox)",
    tests: LARGE_TEST,
  },
  {
    name: "of a large member the projection is bound",
    file: "packages/binder/bind.ts",
    from: "isProjection(choice.sandbox) ? await",
    to: "false ? await",
    tests: LARGE_TEST,
  },
  {
    name: "a pool is updated while its member's replacement is about to be made",
    file: "packages/binder/replacements.ts",
    from: 'all + (replacing.get(pool.metadata.uid ?? "") ?? 0)',
    to: "all",
    tests: ["test/binder/replacements.test.ts"],
  },
  {
    name: "a bound claim adds what its template does not allow",
    file: "packages/binder/deliver.ts",
    from: "await checkTemplate(binder, claim, template);",
    to: "",
    tests: DELIVER_TEST,
  },
  {
    name: "files are delivered for a claim whose author nobody has checked",
    file: "packages/binder/deliver.ts",
    from: "const wanted = [...env, ...files];",
    to: "const wanted = env.length === 0 ? [] : [...env, ...files];",
    tests: DELIVER_TEST,
  },
  {
    name: "a start command needs no template that allows variables",
    file: "packages/api/claims/request.ts",
    from: 'if (isMore && envVarsInjectionPolicy === "Disallowed") {',
    to: "if (false) {",
    tests: DELIVER_TEST,
  },
];
