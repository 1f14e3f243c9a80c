/** The counts of faults.test.ts see what they are there for. @module */
import { expect, test } from "vitest";
import { sharedOf } from "./audit.ts";
import { leftOf, type Observed } from "./left.ts";

const ready = { conditions: [{ type: "Ready", status: "True" }] };
const of = (kind: string, uid: string) => [{ kind, name: uid, uid, controller: true }];
const claim = (name: string) => ({ kind: "SandboxClaim", metadata: { name, uid: name }, status: ready });
const child = (kind: string, name: string, owner: object[]) => ({
  kind,
  metadata: { name, uid: `${kind} ${name}`, ownerReferences: owner },
  status: ready,
});
const sandbox = (name: string, owner: object[]) => child("Sandbox", name, owner);
const pod = (name: string, owner = name) => child("Pod", name, of("Sandbox", `Sandbox ${owner}`));

const POOL = { kind: "SandboxWarmPool", metadata: { name: "p", uid: "p" } };
const AT_REST: Observed = {
  claims: [claim("a")],
  pools: [POOL],
  sandboxes: [sandbox("s-a", of("SandboxClaim", "a")), sandbox("s-p", of("SandboxWarmPool", "p"))],
  children: [[pod("s-a"), pod("s-p")]],
};

const more = (change: { [Key in keyof Observed]?: Observed[Key] }): Observed => ({ ...AT_REST, ...change });
const cases: { name: string; observed: Observed; want: object }[] = [
  { name: "nothing at rest", observed: AT_REST, want: { lost: [], leaked: [], unready: [] } },
  {
    name: "a Sandbox whose claim is gone",
    observed: more({ sandboxes: [...AT_REST.sandboxes, sandbox("s-b", of("SandboxClaim", "b"))] }),
    want: { leaked: ["Sandbox s-b"] },
  },
  {
    name: "a member beyond the replicas",
    observed: more({ sandboxes: [...AT_REST.sandboxes, sandbox("s-q", of("SandboxWarmPool", "p"))] }),
    want: { leaked: ["Sandbox s-q"] },
  },
  {
    name: "a second Sandbox of a claim",
    observed: more({ sandboxes: [...AT_REST.sandboxes, sandbox("s-a2", of("SandboxClaim", "a"))] }),
    want: { leaked: ["Sandbox s-a2"] },
  },
  {
    name: "a Pod whose Sandbox is gone",
    observed: more({ children: [[...AT_REST.children.flat(), pod("gone")]] }),
    want: { leaked: ["Pod gone"] },
  },
  {
    name: "a second Pod of a Sandbox",
    observed: more({ children: [[...AT_REST.children.flat(), pod("again", "s-a")]] }),
    want: { leaked: ["Pod again"] },
  },
  {
    name: "a claim that was to go",
    observed: more({ claims: [claim("a"), claim("b")] }),
    want: { leaked: ["SandboxClaim b"] },
  },
  { name: "a claim that is gone", observed: more({ claims: [] }), want: { lost: ["SandboxClaim a"] } },
  {
    name: "a claim's Sandbox that is gone",
    observed: more({ sandboxes: AT_REST.sandboxes.slice(1) }),
    want: { lost: ["the Sandbox of SandboxClaim a"] },
  },
  {
    name: "a member that is missing",
    observed: more({ sandboxes: AT_REST.sandboxes.slice(0, 1) }),
    want: { lost: ["1 of the pool"] },
  },
  { name: "a Pod that is missing", observed: more({ children: [[pod("s-a")]] }), want: { unready: ["1 Pod"] } },
];

test.for(cases)("leftOf() counts $name", ({ observed, want }) => {
  expect(leftOf(observed, new Set(["a"]), 1)).toMatchObject(want);
});

const line = (object: object, code = 200) =>
  JSON.stringify({ kind: "Event", responseStatus: { code }, responseObject: object });
const owned = (name: string, ...claims: string[]) =>
  line(sandbox(name, claims.flatMap((uid) => of("SandboxClaim", uid))));
const showing = (uid: string, name: string) => ({ ...claim(uid), status: { sandbox: { name } } });
const shared = (writes: string[], ...versions: object[]) =>
  sharedOf(writes, { versions: new Map([["claim", versions]]), ready: () => [], waits: () => [] });

test("sharedOf() counts Sandboxes of two claims, one after the other or at once, and claims with two", () => {
  expect(shared([owned("s", "a"), owned("s", "a"), owned("t", "b")], showing("a", "s"))).toEqual([]);
  expect(shared([owned("s", "a"), owned("s", "b")])).toEqual(["Sandbox s (Sandbox s) was of claims a, b"]);
  expect(shared([owned("s", "a", "b")])).toEqual(["Sandbox s (Sandbox s) was of claims a, b"]);
  expect(shared([owned("s", "a"), owned("t", "a")])).toEqual(["claim a had Sandboxes s, t"]);
});

test("sharedOf() counts what a claim showed that was never its own, by the watch or by the log", () => {
  const want = ["claim a showed Sandbox s, never its own"];
  expect(shared([owned("s", "b")], showing("a", "s"))).toEqual(want);
  expect(shared([owned("s", "b"), line(showing("a", "s"))])).toEqual(want);
});

test("sharedOf() leaves out writes that were refused, and lines that were cut short, at the end or before another", () => {
  const cut = owned("s", "b").slice(0, -20);
  expect(shared([owned("s", "a"), line(sandbox("s", of("SandboxClaim", "b")), 409), cut])).toEqual([]);
  expect(shared([owned("s", "a"), cut + owned("s", "c")])).toEqual(["Sandbox s (Sandbox s) was of claims a, c"]);
});
