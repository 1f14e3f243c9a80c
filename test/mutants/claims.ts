/** Mutants of what a claim may ask for. @module */
import type { Mutant } from "./mutant.ts";

const METADATA_TEST = ["test/api/claims/podmetadata.test.ts"];
const BOUND_TEST = ["test/api/claims/boundmetadata.test.ts"];

export const CLAIMS: readonly Mutant[] = [
  {
    name: "a domain that ends like an allowed one is allowed",
    file: "packages/api/claims/podmetadata.ts",
    from: "domain.endsWith(`.${parent}`)",
    to: "domain.endsWith(parent)",
    tests: METADATA_TEST,
  },
  {
    name: "a claim's Pod may call itself the router in capitals",
    file: "packages/api/claims/podmetadata.ts",
    from: 'key.toLowerCase() === "app" && value.toLowerCase()',
    to: 'key === "app" && value',
    tests: METADATA_TEST,
  },
  {
    name: "a claim may overwrite its template's annotations",
    file: "packages/api/claims/podmetadata.ts",
    from: 'conflictIn("annotation", base.annotations, additional.annotations)',
    to: 'conflictIn("annotation", {}, additional.annotations)',
    tests: METADATA_TEST,
  },
  {
    name: "variables are set where a template allows none",
    file: "packages/api/claims/request.ts",
    from: 'if (policy === "Disallowed") {',
    to: "if (policy === undefined) {",
    tests: ["test/api/claims/request-environment.test.ts"],
  },
  {
    name: "variables that nobody can see may be overwritten",
    file: "packages/api/claims/request.ts",
    from: "(container.envFrom ?? []).length > 0",
    to: "(container.envFrom ?? []).length < 0",
    tests: ["test/api/claims/request-environment.test.ts"],
  },
  {
    name: "volumes are brought where a template allows none",
    file: "packages/api/claims/request.ts",
    from: 'if (policy === "Disallowed") return',
    to: "if (policy === undefined) return",
    tests: ["test/api/claims/request-volumes.test.ts"],
  },
  {
    name: "a template says which claim a Pod is of",
    file: "packages/api/claims/boundmetadata.ts",
    from: "joinedMetadata(template, { labels: tracked })",
    to: "joinedMetadata({ labels: tracked }, template)",
    tests: BOUND_TEST,
  },
  {
    name: "a claim may take away later what is the template's",
    file: "packages/api/claims/boundmetadata.ts",
    from: "withoutMetadata({ labels, annotations }, base)",
    to: "{ labels, annotations }",
    tests: BOUND_TEST,
  },
  {
    name: "an old view of its Sandbox takes a claim's Ready back",
    file: "hooks/sandboxclaim/status.ts",
    from: "Math.abs(now.getTime() - since) < OLDER_VIEW_MS",
    to: "Math.abs(now.getTime() - since) < 0",
    tests: ["test/hooks/sandboxclaim/attached.test.ts"],
  },
];
