import { expect, test } from "vitest";
import { dryRunVerdict } from "../../packages/keeper/diagnose.ts";
import { refusal } from "../kube/fakeapi.ts";

interface Case {
  name: string;
  reason: string;
  status: number;
  message?: string;
  want: "fine" | "unknown" | "invalid" | "refused";
}

// The messages are those of kube-apiserver 1.36.
const cases: Case[] = [
  { name: "created", reason: "somebody will make it", status: 201, want: "fine" },
  { name: "exists", reason: "somebody was faster", status: 409, message: 'pods "demo" already exists', want: "fine" },
  {
    name: "no namespace",
    reason: "then the Sandbox is gone, too",
    status: 404,
    message: 'namespaces "team-a" not found',
    want: "fine",
  },
  {
    name: "invalid",
    reason: "only another spec helps",
    status: 422,
    message: 'Pod "demo" is invalid: spec.containers[0].image: Required value',
    want: "invalid",
  },
  {
    name: "malformed",
    reason: "only another spec helps",
    status: 400,
    message: 'Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression',
    want: "invalid",
  },
  {
    name: "too large",
    reason: "only another spec helps",
    status: 413,
    message: "Request entity too large",
    want: "invalid",
  },
  {
    name: "webhook without dry runs",
    reason: "that says nothing of the child",
    status: 400,
    message: 'admission webhook "x.example.com" does not support dry run',
    want: "unknown",
  },
  {
    name: "the namespace is about to go",
    reason: "a write to an object that is going, too, helps nobody",
    status: 403,
    message:
      'pods "demo" is forbidden: unable to create new content in namespace team-a because it is being terminated',
    want: "fine",
  },
  {
    name: "quota",
    reason: "there may be room later",
    status: 403,
    message: 'pods "demo" is forbidden: exceeded quota: few, requested: pods=1, used: pods=3, limited: pods=3',
    want: "refused",
  },
  {
    name: "Pod security",
    reason: "the namespace's labels may change",
    status: 403,
    message: 'pods "demo" is forbidden: violates PodSecurity "restricted:latest": privileged',
    want: "refused",
  },
  {
    name: "webhook",
    reason: "its mind may change",
    status: 403,
    message: 'admission webhook "x.example.com" denied the request: no',
    want: "refused",
  },
  {
    name: "own rights",
    reason: "the keeper's trouble is not the user's",
    status: 403,
    message: 'pods is forbidden: User "system:serviceaccount:a:b" cannot create resource "pods" in API group ""',
    want: "unknown",
  },
  {
    name: "own admission policy",
    reason: "it may be older than the keeper",
    status: 422,
    message: "pods \"demo\" is forbidden: ValidatingAdmissionPolicy 'hookbox-keeper' with binding 'hookbox-keeper' " +
      "denied request: The keeper may change the label controller-uid, and no others.",
    want: "unknown",
  },
  { name: "own token", reason: "the keeper's trouble", status: 401, message: "Unauthorized", want: "unknown" },
  { name: "too many requests", reason: "says nothing of the child", status: 429, want: "unknown" },
  { name: "timeout", reason: "says nothing of the child", status: 408, want: "unknown" },
  { name: "any other refusal", reason: "a webhook chooses its status", status: 418, want: "refused" },
  {
    name: "unreachable webhook",
    reason: "it keeps Metacontroller's request away just so",
    status: 500,
    message: 'Internal error occurred: failed calling webhook "x.example.com": connection refused',
    want: "refused",
  },
  {
    name: "server error",
    reason: "says nothing of the child",
    status: 500,
    message: "etcdserver: no leader",
    want: "unknown",
  },
  { name: "unavailable", reason: "says nothing of the child", status: 503, want: "unknown" },
];

test.for(cases)("dryRunVerdict(): $name", ({ status, message = "words", want, reason }) => {
  const verdict = dryRunVerdict({ kind: "Pod", name: "demo" }, refusal(status, message));
  const problem = { kind: "Pod", name: "demo", state: want, message };
  expect(verdict, reason).toEqual(want === "invalid" || want === "refused" ? problem : want);
});

test("dryRunVerdict() cuts off what would burst a condition", () => {
  const verdict = dryRunVerdict({ kind: "Pod", name: "demo" }, refusal(422, "x".repeat(5000)));
  expect(verdict).toMatchObject({ message: `${"x".repeat(1999)}…` });
});
