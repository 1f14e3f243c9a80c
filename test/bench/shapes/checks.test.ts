/** @module */
import { expect, test } from "vitest";
import type { Followed } from "../../../bench/load/follower.ts";
import { budgetFaults, createSharingCheck, faultsOfClaims } from "../../../bench/shapes/checks.ts";
import { aResult } from "../report/results.ts";

const claim = (name: string, sandbox?: string): Followed => ({
  metadata: { namespace: "ns", name, uid: `uid-${name}` },
  ...(sandbox === undefined ? {} : { status: { sandbox: { name: sandbox } } }),
});
const sandbox = (name: string, owner: string): Followed => {
  const ownerReferences = [{
    apiVersion: "v1",
    kind: "SandboxClaim",
    name: owner,
    uid: `uid-${owner}`,
    controller: true,
  }];
  return { metadata: { namespace: "ns", name, uid: `uid-${name}`, ownerReferences } };
};

test.for([
  { name: "each has its own", claims: [claim("a", "s")], sandboxes: [sandbox("s", "a")], want: [] },
  {
    name: "one lost its Sandbox",
    claims: [claim("a", "s")],
    sandboxes: [],
    want: ["Claim ns/a lost its Sandbox ns/s"],
  },
  {
    name: "one shows another's",
    claims: [claim("a", "s")],
    sandboxes: [sandbox("s", "b")],
    want: ["Sandbox ns/s of claim ns/a is controlled by b"],
  },
])("faultsOfClaims(): $name", ({ claims, sandboxes, want }) => {
  expect(faultsOfClaims(claims, sandboxes)).toEqual(want);
});

test("createSharingCheck() finds a Sandbox that served two claims, also one after the other", () => {
  const check = createSharingCheck();
  for (const seen of [claim("a"), claim("a", "s"), claim("a", "s"), claim("b", "t")]) check.look(seen);
  expect(check.faults()).toEqual([]);
  check.look(claim("c", "s"));
  expect(check.faults()).toEqual(["Sandbox ns/s was shared by claims ns/a, ns/c"]);
});

test.for([
  { name: "within", writes: 22, client: "engine", want: [] },
  { name: "beyond", writes: 26, client: "engine", want: ["2.60 writes for each of 10 objects: the budget is 2.5"] },
  { name: "by somebody else", writes: 26, client: "kwok", want: [] },
  { name: "by nobody knows whom", writes: 26, client: undefined, want: [] },
])("budgetFaults(): $name", ({ writes, client, want }) => {
  const request = {
    verb: "update",
    resource: "pods",
    code: 200,
    count: writes,
    ...(client === undefined ? {} : { client }),
  };
  const result = aResult({ asked: 10, requests: [request] });
  expect(budgetFaults({ writes: 2.5, reads: 0 }, result)).toEqual(want);
  expect(budgetFaults(undefined, result)).toEqual([]);
});
