/** Mutants of what the guard says to changes of children that stay, and to what a status says. @module */
import type { Mutant } from "./mutant.ts";

const CHANGES_TEST = ["test/webhook/childchanges.test.ts"];
const EVIDENCE_TEST = ["test/hooks/evidence.test.ts"];

export const GUARDED_CHANGES: readonly Mutant[] = [
  {
    name: "a live Pod may be changed in what was never applied",
    file: "packages/webhook/childchanges.ts",
    from: "return !sameJson(spec, unchangedSpec(child).spec);",
    to: "return applied['spec'] !== undefined && !sameJson(spec, unchangedSpec(child).spec);",
    tests: CHANGES_TEST,
  },
  {
    name: "a Pod whose ports share a number is refused until the keeper has helped",
    file: "packages/webhook/childchanges.ts",
    from: "return !sameJson(spec, unchangedSpec(child).spec);",
    to: "return true;",
    tests: CHANGES_TEST,
  },
  {
    name: "a Service may select less and less",
    file: "packages/webhook/childchanges.ts",
    from: "before![key] === ours[key]",
    to: "false",
    tests: CHANGES_TEST,
  },
  {
    name: "what expires may be deleted by an answer",
    file: "packages/webhook/childchanges.ts",
    from: 'will["shutdownPolicy"] === "Delete" && ',
    to: 'will["shutdownPolicy"] === "" && ',
    tests: CHANGES_TEST,
  },
  {
    name: "a merge that takes a field away changes nothing",
    file: "packages/api/objects/unchangedbymerge.ts",
    from: "if (!present(desired, key) && present(observed, key)) return false;",
    to: "if (!present(desired, key) && present(observed, key)) continue;",
    tests: ["test/api/objects/unchangedbymerge.test.ts", ...CHANGES_TEST],
  },
  {
    name: "a status may say of a reason what it likes",
    file: "packages/webhook/evidence.ts",
    from: "`${said.type} ${said.status} ${said.reason}`];",
    to: "`${said.type} ${said.status}`];",
    tests: EVIDENCE_TEST,
  },
  {
    name: "what was said once is true for ever",
    file: "hooks/sandbox/evidence.ts",
    from: "return saying.isOld && (",
    to: "return saying.isOld || (",
    tests: EVIDENCE_TEST,
  },
  {
    name: "a Sandbox may have finished long ago",
    file: "hooks/sandbox/evidence.ts",
    from: "hasEnded(saying) && isTimely(saying)",
    to: "hasEnded(saying)",
    tests: EVIDENCE_TEST,
  },
  {
    name: "a claim may say since when its Sandbox has been so",
    file: "packages/webhook/evidence.ts",
    from: " &&\n    a.lastTransitionTime === b.lastTransitionTime",
    to: "",
    tests: EVIDENCE_TEST,
  },
];
