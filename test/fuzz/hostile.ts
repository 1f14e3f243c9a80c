/** Values that nobody sends who means well. Pure. @module */

/** One inside the other, so many times. */
function nested(depth: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = null;
  for (let i = 0; i < depth; i++) value = wrap(value);
  return value;
}

const foreign = (kind: string, over: object = {}) => ({
  apiVersion: kind === "Sandbox" ? "agents.x-k8s.io/v1beta1" : "extensions.agents.x-k8s.io/v1beta1",
  kind,
  name: "foreign",
  uid: "uid-foreign",
  controller: true,
  blockOwnerDeletion: true,
  ...over,
});

/** Take the place of any value. */
export const HOSTILE_VALUES: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1.5, 1e308, -1e308, 2 ** 53 + 2, 2 ** 31, 2 ** 63, 5e-324],
  ...["", " ", "0", "-1", "null", "true", "1e999", "NaN", "\0", "\ud800", "\u202e", "é", "🦄".repeat(40), "a/b", "A B"],
  ...["__proto__", "constructor", "toString", "hasOwnProperty", "../../../etc/passwd", "%00", "{{.}}", "$(HOME)"],
  ...["x".repeat(64), "x".repeat(254), "x".repeat(70_000), "-".repeat(300), "{", "[]", '{"metadata":null}', '"'],
  ...["2026-13-45T99:99:99Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "+275760-09-13T00:00:00.001Z", "soon"],
  ...["127.0.0.1", "::1", "169.254.169.254", "0x7f.1", "1Gi", "-1Gi", "1e30Ei", "99999999999999999999m", "Running"],
  ...[[], {}, [null], [[]], [{}], { "": "" }, { name: null }, { metadata: {} }, { metadata: { name: 7 } }],
  JSON.parse('{"__proto__":{"isAdmin":true,"deletionTimestamp":"2026-01-01T00:00:00Z"}}'),
  { constructor: { prototype: { isAdmin: true } } },
  { length: 1e9 },
  { toString: null, valueOf: null, toJSON: null },
  nested(1000, (inner) => [inner]),
  nested(1000, (inner) => ({ metadata: inner })),
  Array.from({ length: 1000 }, () => null),
  [foreign("Sandbox")],
  [foreign("SandboxClaim"), foreign("SandboxWarmPool")],
];

/** Take the place of any key. */
export const HOSTILE_KEYS: readonly string[] = [
  ...["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "", " ", "0", "-1", "length", "\0"],
  ...["Pod.v1", "Pod", "team-b/demo", "demo", "//", "SPEC", "Metadata", "x".repeat(400), "a\nb", "\ud800"],
];

/** What is laid over the metadata of any object. */
export const FORGED_METADATA: readonly Record<string, unknown>[] = [
  { ownerReferences: [foreign("Sandbox")] },
  { ownerReferences: [foreign("SandboxClaim"), foreign("SandboxClaim", { uid: "uid-second" })] },
  { ownerReferences: [foreign("SandboxWarmPool")] },
  { ownerReferences: [foreign("SandboxWarmPool", { controller: "true" })] },
  { ownerReferences: [foreign("SandboxClaim", { uid: "", name: "" })] },
  { deletionTimestamp: "2026-11-21T12:00:00Z" },
  { deletionTimestamp: "" },
  { creationTimestamp: "+275760-09-13T00:00:00.001Z" },
  { uid: "uid-foreign" },
  { uid: "" },
  { namespace: "team-b" },
  { name: "other" },
  { generation: -1 },
  { generation: 2 ** 53 + 2 },
  { resourceVersion: "none" },
  { finalizers: ["example.com/never"] },
  { managedFields: [{ manager: "kubectl-client-side-apply", fieldsV1: { "f:spec": null } }] },
];

/** Values of labels and annotations of ours that somebody else may write. */
export const FORGED_VALUES: readonly string[] = [
  ...["", "true", "0", "-1", "1e309", "uid-foreign", "{", "null", "[]", "{}", '{"spec":null}', '{"Pod/demo":1}'],
  ...["2026-11-21T12:00:00Z", "2026-99-99T12:00:00Z", "x".repeat(5000), '{"__proto__":{"a":1}}', "[".repeat(20_000)],
];
