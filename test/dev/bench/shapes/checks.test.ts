/** @module */
import { expect, test } from "vitest";
import type { Followed } from "../../../../dev/bench/load/follower.ts";
import { createSharingCheck, faultsOfClaims } from "../../../../dev/bench/shapes/checks.ts";

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
  for (const seen of [claim("a"), claim("a", "s"), claim("a", "s"), claim("b", "t")]) check.observe(seen);
  expect(check.faults()).toEqual([]);
  check.observe(claim("c", "s"));
  expect(check.faults()).toEqual(["Sandbox ns/s was shared by claims ns/a, ns/c"]);
});
