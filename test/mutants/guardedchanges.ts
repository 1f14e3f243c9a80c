/** Mutants of what the guard says to changes of children that stay, and to what a status says. @module */
import type { Mutant } from "./mutant.ts";

const RULES_TEST = ["test/webhook/childrules.test.ts"];
const SANDBOX_TEST = ["test/hooks/sandbox/childrules.test.ts"];
const STATUS_TEST = ["test/hooks/statusrules.test.ts"];
const MAKERS_TEST = ["test/deploys/badmakers.test.ts"];
const EVIDENCE_TEST = ["test/hooks/evidence.test.ts"];

export const GUARDED_CHANGES: readonly Mutant[] = [
  {
    name: "a child may change in a field that no rule lists",
    file: "packages/webhook/childrules.ts",
    from: "return field !== undefined && rule",
    to: "return field === undefined || rule",
    tests: [...RULES_TEST, ...SANDBOX_TEST],
  },
  {
    name: "what is another's may be taken over as it is",
    file: "packages/webhook/fieldchanges.ts",
    from: "!sameJson(is, will) || isTaken(was, wants)",
    to: "!sameJson(is, will)",
    tests: [...RULES_TEST, ...SANDBOX_TEST],
  },
  {
    name: "a new child that no rule mentions is made",
    file: "packages/webhook/childrules.ts",
    from: '?? ["kind"];',
    to: "?? [];",
    tests: RULES_TEST,
  },
  {
    name: "more children than the parent asks for are made",
    file: "packages/webhook/childrules.ts",
    from: "count > rule.mostNew(observed)",
    to: "count > 1000",
    tests: RULES_TEST,
  },
  {
    name: "a controller that deletes what differs is answered",
    file: "packages/webhook/hook.ts",
    from: "if (unexpected !== undefined) return",
    to: 'if (unexpected === "") return',
    tests: ["test/hooks/childrules.test.ts"],
  },
  {
    name: "a live Pod's spec may be changed",
    file: "hooks/sandbox/podrules.ts",
    from: "spec: (change) => isSpecLeftAlone(change),",
    to: "spec: () => true,",
    tests: SANDBOX_TEST,
  },
  {
    name: "a Pod whose ports share a number is refused until the keeper has helped",
    file: "packages/webhook/childrules.ts",
    from: 'return applied !== "broken" && sameJson(part(desired.spec)',
    to: 'return applied === "broken" && sameJson(part(desired.spec)',
    tests: SANDBOX_TEST,
  },
  {
    name: "a new Pod's spec may be any",
    file: "hooks/sandbox/podrules.ts",
    from: '...differences(rest, { ...wanted, ...Object.fromEntries(added) }, ["spec"]),',
    to: "",
    tests: MAKERS_TEST,
  },
  {
    name: "a new Pod's volumes may be any",
    file: "hooks/sandbox/podrules.ts",
    from: '...differences(made, expected, ["spec", "volumes"]),',
    to: "",
    tests: MAKERS_TEST,
  },
  {
    name: "a Service may select less and less",
    file: "hooks/sandbox/childrules.ts",
    from: "Object.hasOwn(wanted, key) ? will === wanted[key] : will === undefined",
    to: "will === wanted[key] || will === undefined",
    tests: SANDBOX_TEST,
  },
  {
    name: "a claim may name any Sandbox",
    file: "hooks/sandboxclaim/statusrules.ts",
    from: "if (name !== sandbox.metadata.name || Object.keys(more).length > 0) return false;",
    to: "if (Object.keys(more).length > 0) return false;",
    tests: STATUS_TEST,
  },
  {
    name: "a status may have any field",
    file: "packages/webhook/statusrules.ts",
    from: "const field = rules && isObject(status) ?",
    to: "const field = rules && !isObject(status) ?",
    tests: STATUS_TEST,
  },
  {
    name: "a claim's hook may write any annotation",
    file: "packages/webhook/statusrules.ts",
    from: "return !Object.hasOwn(rules[map] ?? {}, each) ||",
    to: "return Object.hasOwn(rules[map] ?? {}, each) &&",
    tests: STATUS_TEST,
  },
  {
    name: "what is to be deleted at its end is no loss",
    file: "packages/webhook/guard.ts",
    from: 'will["shutdownPolicy"] === "Delete" && ',
    to: 'will["shutdownPolicy"] === "" && ',
    tests: ["test/webhook/guard.test.ts"],
  },
  {
    name: "a merge that takes a field away changes nothing",
    file: "packages/api/objects/apply.ts",
    from: "if (!present(desired, key) && present(observed, key)) return false;",
    to: "if (!present(desired, key) && present(observed, key)) continue;",
    tests: ["test/api/objects/unchangedbymerge.test.ts", ...SANDBOX_TEST],
  },
  {
    name: "a status may say of a reason what it likes",
    file: "packages/webhook/statusrules.ts",
    from: "`${said.type} ${said.status} ${said.reason}`];",
    to: "`${said.type} ${said.status}`];",
    tests: EVIDENCE_TEST,
  },
  {
    name: "what was said once is true for ever",
    file: "hooks/sandbox/statusrules.ts",
    from: "return isOld && isOver(",
    to: "return isOld || isOver(",
    tests: EVIDENCE_TEST,
  },
  {
    name: "a Sandbox may have finished long ago",
    file: "hooks/sandbox/statusrules.ts",
    from: "hasEnded(saying) && isTimely(saying)",
    to: "hasEnded(saying)",
    tests: EVIDENCE_TEST,
  },
  {
    name: "a claim may say since when its Sandbox has been so",
    file: "packages/webhook/statusrules.ts",
    from: " &&\n    a.lastTransitionTime === b.lastTransitionTime",
    to: "",
    tests: EVIDENCE_TEST,
  },
  {
    name: "a Sandbox is Ready Unknown though its Pod serves",
    file: "hooks/sandbox/statusrules.ts",
    from: '"Ready Unknown": (saying) => isLeftOver(saying),',
    to: "",
    tests: ["test/hooks/evidence.test.ts"],
  },
  {
    name: "members are created while the NetworkPolicy of their template is missing",
    file: "hooks/sandboxwarmpool/memberrules.ts",
    from: 'templateNetworkPolicy === "required" && !isFenced(observed, template)',
    to: "false",
    tests: ["test/hooks/sandboxwarmpool/policy.test.ts"],
  },
  {
    name: "an expired Sandbox gets a Pod",
    file: "hooks/sandbox/podrules.ts",
    from: "if (isExpired(parent, now)) return",
    to: "if (false) return",
    tests: ["test/hooks/sandbox/childrules.test.ts"],
  },
];
