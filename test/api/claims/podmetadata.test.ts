/** @module */
import { expect, test } from "vitest";
import { operationsOf } from "../../operations.ts";
import {
  DEFAULT_LABEL_DOMAINS,
  joinedMetadata,
  metadataConflict,
  metadataProblem,
  withoutMetadata,
} from "../../../packages/api/claims/podmetadata.ts";

const label = (key: string, fault: string) =>
  `invalid additionalPodMetadata: failed to validate label "${key}": ${fault}`;
const annotation = (key: string, fault: string) =>
  `invalid additionalPodMetadata: failed to validate annotation "${key}": ${fault}`;
const UNQUALIFIED = "the key is not a qualified name";
const LONG = "x".repeat(64);

const labels = [
  ["an allowed domain", "sandbox.users.io/a", "b", undefined],
  ["a subdomain of one", "team.sandbox.users.io/a", "b", undefined],
  ["an empty value", "sandbox.users.io/a", "", undefined],
  ["a name of 63 characters", `sandbox.users.io/${LONG.slice(1)}`, LONG.slice(1), undefined],
  ["no domain", "a", "b", "the key must have a domain prefix"],
  ["another domain", "example.com/a", "b", 'domain "example.com" is not allowed, use one of: sandbox.users.io'],
  [
    "a domain that only ends alike",
    "notsandbox.users.io/a",
    "b",
    'domain "notsandbox.users.io" is not allowed, use one of: sandbox.users.io',
  ],
  [
    "a domain that only begins alike",
    "sandbox.users.io.evil/a",
    "b",
    'domain "sandbox.users.io.evil" is not allowed, use one of: sandbox.users.io',
  ],
  [
    "the controllers' own domain",
    "agents.x-k8s.io/claim-uid",
    "b",
    'domain "agents.x-k8s.io" is not allowed, use one of: sandbox.users.io',
  ],
  ["capitals in the domain", "Sandbox.users.io/a", "b", UNQUALIFIED],
  ["an empty domain", "/a", "b", UNQUALIFIED],
  ["an empty name", "sandbox.users.io/", "b", UNQUALIFIED],
  ["two slashes", "sandbox.users.io/a/b", "b", UNQUALIFIED],
  ["a name that is too long", `sandbox.users.io/${LONG}`, "b", UNQUALIFIED],
  ["a name that ends in a dash", "sandbox.users.io/a-", "b", UNQUALIFIED],
  ["a value that is too long", "sandbox.users.io/a", LONG, "the value is not a label value"],
  ["a value with a blank", "sandbox.users.io/a", "b c", "the value is not a label value"],
  ["the router's name", "app", "sandbox-router", "the value belongs to the router"],
  ["the router's name in capitals", "App", "Sandbox-Router", "the value belongs to the router"],
  ["the router's name as the value of another key", "sandbox.users.io/app", "sandbox-router", undefined],
] as const;
test.for(labels)("metadataProblem() of a label with %s", ([, key, value, fault]) => {
  const want = fault === undefined ? undefined : { reason: "InvalidMetadata", message: label(key, fault) };
  expect(metadataProblem({ labels: { [key]: value } }, DEFAULT_LABEL_DOMAINS)).toEqual(want);
});

const SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict";
const annotations = [
  ["no domain", "note", undefined],
  ["any domain", "example.com/note", undefined],
  ["safe-to-evict", SAFE, undefined],
  [
    "another key of that domain",
    "cluster-autoscaler.kubernetes.io/x",
    'domain "cluster-autoscaler.kubernetes.io" is reserved',
  ],
  ["Kubernetes' domain", "kubernetes.io/x", 'domain "kubernetes.io" is reserved'],
  ["a subdomain of k8s.io", "a.b.k8s.io/x", 'domain "a.b.k8s.io" is reserved'],
  ["the controllers' domain", "agents.x-k8s.io/pod-name", 'domain "agents.x-k8s.io" is reserved'],
  ["a domain below that", "extensions.agents.x-k8s.io/x", 'domain "extensions.agents.x-k8s.io" is reserved'],
  ["a domain that only ends alike", "notk8s.io/x", undefined],
  ["no qualified name", "a b", UNQUALIFIED],
  ["an empty key", "", UNQUALIFIED],
] as const;
test.for(annotations)("metadataProblem() of an annotation with %s", ([, key, fault]) => {
  const want = fault === undefined ? undefined : { reason: "InvalidMetadata", message: annotation(key, fault) };
  expect(metadataProblem({ annotations: { [key]: "any value, of any length" } }, [])).toEqual(want);
});

test("metadataProblem() names the first fault: labels before annotations, each in order of key", () => {
  const additional = { labels: { z: "1", y: "1" }, annotations: { "k8s.io/a": "1" } };
  expect(metadataProblem(additional, ["a.io", "b.io"])?.message).toBe(label("y", "the key must have a domain prefix"));
  expect(metadataProblem({ annotations: { "k8s.io/b": "", "k8s.io/a": "" } }, [])?.message).toContain('"k8s.io/a"');
  expect(metadataProblem({ labels: { "c.io/x": "" } }, ["a.io", "b.io"])?.message).toContain("use one of: a.io, b.io");
  expect(metadataProblem(undefined, [])).toBeUndefined();
});

const conflict = (text: string) => ({
  reason: "ReconcilerError",
  message: `Error seen: metadata override conflict: ${text}`,
});
const conflicts = [
  [
    "a label of another value",
    { labels: { a: "1" } },
    { labels: { a: "2" } },
    conflict('label "a" is defined in template with value "1", but claim requests "2"'),
  ],
  [
    "an annotation of another value",
    { annotations: { a: "1" } },
    { annotations: { a: "" } },
    conflict('annotation "a" is defined in template with value "1", but claim requests ""'),
  ],
  [
    "the first in order of key",
    { labels: { b: "1", a: "1" } },
    { labels: { b: "2", a: "2" } },
    conflict('label "a" is defined in template with value "1", but claim requests "2"'),
  ],
  ["a label before an annotation", { labels: { z: "1" }, annotations: { a: "1" } }, {
    labels: { z: "2" },
    annotations: { a: "2" },
  }, conflict('label "z" is defined in template with value "1", but claim requests "2"')],
  ["the same value", { labels: { a: "1" } }, { labels: { a: "1" } }, undefined],
  ["a label where the template has an annotation", { annotations: { a: "1" } }, { labels: { a: "2" } }, undefined],
  ["a key that every object has", { labels: {} }, { labels: { constructor: "2" } }, undefined],
  ["nothing", {}, undefined, undefined],
] as const;
test.for(conflicts)("metadataConflict() of %s", ([, base, additional, want]) => {
  expect(metadataConflict(base, additional)).toEqual(want);
});

test("joinedMetadata() lays later over earlier, and leaves out what is empty", () => {
  expect(joinedMetadata({ labels: { a: "1", b: "1" } }, {}, { labels: { b: "2" }, annotations: {} })).toEqual({
    labels: { a: "1", b: "2" },
  });
  expect(joinedMetadata()).toEqual({});
});

test("withoutMetadata() takes away what still has the given value, and nothing else", () => {
  const metadata = { labels: { a: "1", b: "1", constructor: "1" }, annotations: { a: "1" } };
  expect(withoutMetadata(metadata, { labels: { a: "1", b: "2" }, annotations: { a: "1" } })).toEqual({
    labels: { b: "1", constructor: "1" },
  });
  expect(withoutMetadata({}, {})).toEqual({});
});

test("metadataProblem() finds the first fault without sorting all: a claim may have 50,000 labels", () => {
  const keys = Array.from({ length: 10_000 }, (_, i) => `a.io/${(i * 7919) % 10_000}`);
  const bad = Object.fromEntries(keys.map((key) => [key, ""]));
  const good = Object.fromEntries(keys.map((key) => [key.replace("a.io", "sandbox.users.io"), ""]));
  const work = (labels: Record<string, string>) =>
    operationsOf(() => metadataProblem({ labels }, DEFAULT_LABEL_DOMAINS));
  expect(work(bad)).toBeLessThan(1000);
  expect(work(good), "each is judged, none compared").toBeLessThan(50_000);
  expect(metadataProblem({ labels: bad }, DEFAULT_LABEL_DOMAINS)?.message).toContain('label "a.io/0"');
});

test.for(
  [
    ["an allowed domain", "example.com/note", ["example.com"], undefined],
    ["one below it", "a.example.com/note", ["example.com"], undefined],
    ["another one", "k8s.v1.cni.cncf.io/networks", ["example.com"], "use one of: example.com"],
    ["one that ends alike", "bad-example.com/note", ["example.com"], "use one of: example.com"],
    ["none", "note", ["example.com"], "the key must have a domain prefix"],
    ["any, where none is allowed", "example.com/note", [], "is not allowed"],
    ["Kubernetes', allowed or not", "cni.k8s.io/x", ["k8s.io"], "is reserved"],
    ["safe-to-evict, which is not named", SAFE, ["example.com"], "use one of: example.com"],
    ["safe-to-evict, which is", SAFE, ["cluster-autoscaler.kubernetes.io"], undefined],
  ] as const,
)("an annotation key of a claim, where domains are listed, with %s", ([, key, domains, want]) => {
  const problem = metadataProblem({ annotations: { [key]: "x" } }, DEFAULT_LABEL_DOMAINS, domains);
  if (want === undefined) return expect(problem).toBe(undefined);
  expect(problem).toMatchObject({ reason: "InvalidMetadata", message: expect.stringContaining(want) });
});
