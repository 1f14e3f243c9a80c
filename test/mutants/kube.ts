/** Mutants of who leads, of watches, and of writes that fit one version alone. @module */
import type { Mutant } from "./mutant.ts";

const LEADER_TEST = ["test/kube/leader.test.ts"];
const WATCH_TEST = ["test/kube/watch.test.ts"];

export const KUBE: readonly Mutant[] = [
  {
    name: "a Lease is taken from a holder that renews it",
    file: "packages/kube/leader.ts",
    from: "now - sighting.since > term * 1000",
    to: "now >= sighting.since",
    tests: LEADER_TEST,
  },
  {
    name: "who has lost the Lease goes on",
    file: "packages/kube/leader.ts",
    from: 'if (outcome === "lost") term.abort();',
    to: "",
    tests: LEADER_TEST,
  },
  {
    name: "a Lease is written even if another process has written it since",
    file: "packages/kube/leader.ts",
    from: "metadata: { resourceVersion: metadata.resourceVersion }",
    to: "metadata: {}",
    tests: LEADER_TEST,
  },
  {
    name: "a leader gives up after others may have begun",
    file: "packages/kube/leader.ts",
    from: "RENEWAL_SHARE = 10 / 15",
    to: "RENEWAL_SHARE = 20 / 15",
    tests: LEADER_TEST,
  },
  {
    name: "a watch goes on from a version that is too old",
    file: "packages/kube/watch.ts",
    from: "if (signal.aborted) return;\n      cursor.version = undefined;",
    to: "if (signal.aborted) return;",
    tests: WATCH_TEST,
  },
  {
    name: "what cannot be read is gone",
    file: "packages/kube/watch.ts",
    from: "      uids.add(uidOf(item));\n      cursor.shown.add(uidOf(item));\n      const object = parse(item);\n",
    to:
      "      const object = parse(item);\n      if (!object) continue;\n      uids.add(uidOf(item));\n      cursor.shown.add(uidOf(item));\n",
    tests: WATCH_TEST,
  },
  {
    name: "what a list lacks is there for ever",
    file: "packages/kube/watch.ts",
    from: "if (!uids.has(uid)) handler.gone(uid);",
    to: "if (!uids.has(uid)) continue;",
    tests: WATCH_TEST,
  },
  {
    name: "a patch fits whatever the object is by now",
    file: "packages/kube/requests.ts",
    from: "metadata: { resourceVersion, ...change }",
    to: "metadata: { ...change }",
    tests: ["test/kube/patch.test.ts"],
  },
];
