/** Reads from an authorizer's message which right an account lacks. @module */
import { expect, test } from "vitest";
import { lackedRight } from "../../../packages/api/diagnosis/messages.ts";

const ACCOUNT = "system:serviceaccount:hookbox-system:hookbox-binder";
const refusal = (what: string) =>
  `${what.split('"')[1]} "t" is forbidden: User "${ACCOUNT}" cannot ${what} in the namespace "x"`;

test.for([
  [
    'get resource "sandboxtemplates" in API group "extensions.agents.x-k8s.io"',
    "get sandboxtemplates.extensions.agents.x-k8s.io",
  ],
  [
    'update resource "sandboxclaims/status" in API group "extensions.agents.x-k8s.io"',
    "update sandboxclaims.extensions.agents.x-k8s.io/status",
  ],
  ['create resource "pods" in API group ""', "create pods"],
])("%s is %s", ([what = "", right]) => {
  expect(lackedRight(`Cannot do it: ${refusal(what)} (status 403)`)).toEqual({ account: ACCOUNT, right });
});

test.for([
  'pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1',
  'pods "p" is forbidden: violates PodSecurity "restricted:latest": privileged',
  "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no",
  "",
])("a refusal of another kind is none: %s", (message) => expect(lackedRight(message)).toBeUndefined());
