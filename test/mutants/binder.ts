/** Mutants of what gives claims their Sandboxes: whom it takes for free, on which condition it writes, whose turn it is. @module */
import { BINDER_LIMITS } from "./binderlimits.ts";
import type { Mutant } from "./mutant.ts";

const INDEX_TEST = ["test/binder/clusterindex.test.ts"];
const WRITES_TEST = ["test/binder/writes.test.ts"];
const STANDING_TEST = ["test/binder/standing.test.ts"];
const REPORT_TEST = ["test/binder/report.test.ts"];
const CHOOSE_TEST = ["test/binder/filter.test.ts"];
const HOSTILE_TEST = ["test/binder/hostile.test.ts"];
const BIND_TEST = ["test/binder/bind.test.ts"];

export const BINDER: readonly Mutant[] = [
  ...BINDER_LIMITS,
  {
    name: "one claim that cannot be judged stops all",
    file: "packages/binder/schedule.ts",
    from: 'return { kind: "wait", ms };',
    to: "throw error;",
    tests: HOSTILE_TEST,
  },
  {
    name: "claims that cannot be served are judged at each change of a member",
    file: "packages/binder/clusterindex.ts",
    from: 'if (after?.with === "pool") state.listener.onMembers(',
    to: 'if (after?.with === "pool") state.listener.onPool(',
    tests: HOSTILE_TEST,
  },
  {
    name: "a claim that waits for its next try keeps members from being replaced",
    file: "packages/binder/replacements.ts",
    from: "queue.pending() > 0",
    to: "queue.pending() >= 0",
    tests: ["test/binder/replacements.test.ts"],
  },
  {
    name: "a member that is marked as draining is free",
    file: "packages/binder/clusterindex.ts",
    from: "labels[DRAINING_LABEL] === undefined && ",
    to: "",
    tests: INDEX_TEST,
  },
  {
    name: "a member that has been a claim's is free",
    file: "packages/binder/clusterindex.ts",
    from: "labels[CLAIM_UID_LABEL] === undefined && ",
    to: "",
    tests: INDEX_TEST,
  },
  {
    name: "what is being bound stays free until it is",
    file: "packages/binder/clusterindex.ts",
    from: "notifyOfLoss(state, takeOut(state, uid));\n      assumed.assume(uid, resourceVersion);",
    to: "assumed.assume(uid, resourceVersion);",
    tests: INDEX_TEST,
  },
  {
    name: "a release reverts what is known by now of another version",
    file: "packages/binder/clusterindex.ts",
    from: "if (assumed.find(uid) !== resourceVersion) return;",
    to: "",
    tests: INDEX_TEST,
  },
  {
    name: "what was made while a list was under way is gone",
    file: "packages/binder/clusterindex.ts",
    from: "!uids.has(uid) && !assumed.isSince(uid)",
    to: "!uids.has(uid)",
    tests: ["test/binder/assumptions.test.ts"],
  },
  {
    name: "a version with more digits is not newer",
    file: "packages/binder/assume.ts",
    from: "version.length === than.length ? version > than : version.length > than.length",
    to: "version > than",
    tests: ["test/binder/assumptions.test.ts"],
  },
  {
    name: "any Sandbox of the name is the claim's own",
    file: "packages/binder/writes.ts",
    from: "controllerOf(sandbox.metadata)?.uid === metadata.uid",
    to: "sandbox.metadata.namespace === metadata.namespace",
    tests: WRITES_TEST,
  },
  {
    name: "a claim that was created again under its name gets the old one's status",
    file: "packages/binder/writes.ts",
    from: "if (claim.metadata.uid !== uid) return undefined;",
    to: "",
    tests: WRITES_TEST,
  },
  {
    name: "a claim that was made anew under its name gets the old one's annotations",
    file: "packages/binder/writes.ts",
    from: "metadata: { uid, resourceVersion, annotations }",
    to: "metadata: { annotations }",
    tests: WRITES_TEST,
  },
  {
    name: "a refused creation is tried for ever",
    file: "packages/binder/writes.ts",
    from: "status === 403 || ",
    to: "",
    tests: WRITES_TEST,
  },
  {
    name: "a pool that is being deleted gives members",
    file: "packages/binder/filter.ts",
    from: "if (pool.metadata.deletionTimestamp !== undefined) {",
    to: "if (pool === undefined) {",
    tests: CHOOSE_TEST,
  },
  {
    name: "a member is given whose name could be given again",
    file: "packages/binder/filter.ts",
    from: "members.best(isFit, upTo)",
    to: "members.best(isFit)",
    tests: ["test/binder/candidates.test.ts"],
  },
  {
    name: "a stale member is given under Recreate",
    file: "packages/binder/filter.ts",
    from: "isFree(sandbox, now) && !isStaleOnce(sandbox, template)",
    to: "isFree(sandbox, now)",
    tests: CHOOSE_TEST,
  },
  {
    name: "a claim gets what its template does not allow",
    file: "packages/binder/filter.ts",
    from: 'if (problem) return { kind: "refused", problem };',
    to: "",
    tests: CHOOSE_TEST,
  },
  {
    name: "a claim that is being deleted gets a Sandbox",
    file: "packages/binder/standing.ts",
    from: "if (deletionTimestamp !== undefined) return HOOKS;",
    to: "",
    tests: STANDING_TEST,
  },
  {
    name: "a claim at its end gets another Sandbox",
    file: "packages/binder/standing.ts",
    from: "if (named !== undefined && isFinal(claim)) return HOOKS;",
    to: "",
    tests: STANDING_TEST,
  },
  {
    name: "a report on a claim that cannot be served is believed without asking the API server",
    file: "packages/binder/report.ts",
    from: 'if (report.is !== "wanting" || report.isCertain) return true;',
    to: "return true;",
    tests: ["test/binder/problems.test.ts"],
  },
  {
    name: "a binder that leads no more writes about a claim that another one has bound",
    file: "packages/binder/report.ts",
    from: "isSame ? statusFor(binder, entry, claim, { ...report, sandbox }, now) : undefined;",
    to: "statusFor(binder, entry, claim, { ...report, sandbox }, now);",
    tests: ["test/binder/meanwhile.test.ts"],
  },
  {
    name: "a claim is Ready before it has its annotations",
    file: "packages/binder/report.ts",
    from: 'const needsAnnotations = report.is === "assigned";',
    to: "const needsAnnotations = false;",
    tests: REPORT_TEST,
  },
  {
    name: "an older version of a claim reverts what was written",
    file: "packages/binder/binder.ts",
    from: "if (entry.assumed !== undefined && isNewer(entry.assumed, version)) return;",
    to: "",
    tests: ["test/binder/claimversions.test.ts"],
  },
  {
    name: "a Sandbox that is bound keeps the label by which pools adopt",
    file: "packages/binder/boundsandbox.ts",
    from: "  CREATED_BY_LABEL,\n  CONTROLLER_UID_LABEL,\n];",
    to: "  CREATED_BY_LABEL,\n];",
    tests: ["test/binder/boundsandbox.test.ts"],
  },
  {
    name: "a Sandbox that is bound keeps its pool as an owner",
    file: "packages/binder/boundsandbox.ts",
    from: "ownerReferences: [controllerReference(claim)],\n    },\n    // The keeper",
    to: "ownerReferences: [...applied.metadata.ownerReferences ?? [], ...sandbox.metadata.ownerReferences ?? []],\n" +
      "    },\n    // The keeper",
    tests: ["test/binder/boundsandbox.test.ts"],
  },
  {
    name: "claims are served before all is known",
    file: "packages/binder/state.ts",
    from: "return isListed && term",
    to: "return term",
    tests: BIND_TEST,
  },
  {
    name: "one namespace may occupy all workers",
    file: "packages/binder/queue.ts",
    from: "serving >= mostOfOne",
    to: "serving < 0",
    tests: ["test/binder/queue.test.ts"],
  },
  {
    name: "claims that come while others of their namespace are served are not held",
    file: "packages/binder/queue.ts",
    from: "own.queues.size === 0 && own.serving === 0",
    to: "own.queues.size === 0",
    tests: ["test/binder/queue.test.ts"],
  },
  {
    name: "what a claim had is free again, in a newer version, after a restore",
    file: "packages/binder/clusterindex.ts",
    from: 'if (before?.with === "claim" && found?.with === "pool") state.returned.add(uid);',
    to: "",
    tests: ["test/binder/assumptions.test.ts"],
  },
  {
    name: "a member that has changed since a restore is free",
    file: "packages/binder/assume.ts",
    from: "known !== resourceVersion && list.before",
    to: "known === undefined && list.before",
    tests: ["test/binder/assumptions.test.ts"],
  },
];
