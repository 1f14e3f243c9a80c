/** Mutants of what keeps somebody who may only write claims within the template, and from the Sandboxes of others. @module */
import type { Mutant } from "./mutant.ts";

const SERVICE_TEST = ["test/hooks/sandbox/service.test.ts"];

export const CLAIM_USERS: readonly Mutant[] = [
  {
    name: "a claim has a field for the image",
    file: "packages/api/sandboxclaim.ts",
    from: "const specSchema = openObject({",
    to: 'const specSchema = openObject({\n  image: z.string().optional().describe("Image of the first container."),',
    tests: ["test/api/crds.test.ts"],
  },
  {
    name: "a field that claims do not have reaches the Sandbox that is made for one",
    file: "packages/binder/boundsandbox.ts",
    from: "...sharedSpec(template, volumes),",
    to: "...sharedSpec(template, volumes),\n      ...claim.spec,",
    tests: ["test/binder/cold.test.ts"],
  },
  {
    name: "a variable of a claim is the value of a Secret",
    file: "packages/api/claims/request.ts",
    from: "variables.map(({ name, value }) => [name, { name, value }])",
    to: "variables.map((variable) => [variable.name, variable])",
    tests: ["test/binder/cold.test.ts"],
  },
  {
    name: "a field that claims do not have reaches the member that one gets",
    file: "packages/binder/boundsandbox.ts",
    from: "spec: { ...applied.spec, podTemplate:",
    to: "spec: { ...applied.spec, ...claim.spec, podTemplate:",
    tests: ["test/binder/boundsandbox.test.ts"],
  },
  {
    name: "a bound claim puts any annotation on its Pod",
    file: "hooks/sandboxclaim/sync.ts",
    from: "    config.allowedAnnotationDomains,\n",
    to: "",
    tests: ["test/hooks/sandboxclaim/podmetadata.test.ts"],
  },
  {
    name: "a member is bound whatever has become of it",
    file: "packages/binder/writes.ts",
    from: "managedFields: FORGOTTEN }",
    to: "managedFields: FORGOTTEN, resourceVersion: undefined }",
    tests: ["test/binder/writes.test.ts"],
  },
  {
    name: "a new Service selects by the hash of the name alone",
    file: "hooks/sandbox/service.ts",
    from: "headless(sandbox, servicePorts(sandbox), true)",
    to: "headless(sandbox, servicePorts(sandbox), false)",
    tests: SERVICE_TEST,
  },
  {
    name: "a Service never selects by UID that did not from the beginning",
    file: "hooks/sandbox/service.ts",
    from: "const byUID = hasPod || ",
    to: "const byUID = ",
    tests: SERVICE_TEST,
  },
  {
    name: "a page of a list may be of any size",
    file: "packages/kube/requests.ts",
    from: "limit > 1 ? { mostBytes: MOST_BYTES } : {}",
    to: "{}",
    tests: ["test/kube/pages.test.ts"],
  },
  {
    name: "other events wait until the keeper has nothing to do",
    file: "packages/kube/reconcilequeue.ts",
    from: "queue.inARow++ < MOST_IN_A_ROW",
    to: "queue.inARow++ >= 0",
    tests: ["test/kube/reconcilequeue.test.ts"],
  },
  {
    name: "all claims that cannot be served are judged at once",
    file: "packages/binder/schedule.ts",
    from: "if (++turnedAway < MOST_TURNED_AWAY) continue;",
    to: "if (++turnedAway > 0) continue;",
    tests: ["test/binder/hostile.test.ts"],
  },
  {
    name: "the labels of a claim are sorted to find the first fault",
    file: "packages/api/claims/podmetadata.ts",
    from: "const found = firstFound(map, faultOf);",
    to: "const sorted = Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));\n" +
      "  const found = firstFound(Object.fromEntries(sorted), faultOf);",
    tests: ["test/api/claims/podmetadata.test.ts"],
  },
];
