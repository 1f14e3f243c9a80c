/** What the API server's words say when it refuses an object. Words as kube-apiserver 1.36 has written them. @module */
import { expect, test } from "vitest";
import { quotedError, readRefusal } from "../../../packages/api/diagnosis/messages.ts";

const cases: [words: string, code: string, object: string][] = [
  [
    'pods "s" is forbidden: exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0',
    "QuotaExceeded",
    "ResourceQuota/none@team-a",
  ],
  [
    'pods "s" is forbidden: failed quota: small: must specify limits.cpu for: main',
    "QuotaNeedsResources",
    "ResourceQuota/small@team-a",
  ],
  [
    'pods "s" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container …)',
    "PodSecurityViolation",
    "Namespace/team-a",
  ],
  [
    "pods \"s\" is forbidden: ValidatingAdmissionPolicy 'no-pods' with binding 'b' denied request: not here",
    "AdmissionPolicyDenied",
    "ValidatingAdmissionPolicy/no-pods",
  ],
  ['admission webhook "a.example.com" denied the request: no', "AdmissionWebhookDenied", ""],
  [
    'Internal error occurred: failed calling webhook "a.example.com": connection refused',
    "AdmissionWebhookUnreachable",
    "",
  ],
  ['pods "s" is forbidden: pod rejected: RuntimeClass "gone" not found', "RuntimeClassNotFound", "RuntimeClass/gone"],
  [
    'pods "s" is forbidden: error looking up service account team-a/nobody: serviceaccount "nobody" not found',
    "ServiceAccountNotFound",
    "ServiceAccount/nobody@team-a",
  ],
  [
    'pods "s" is forbidden: no PriorityClass with name urgent was found',
    "PriorityClassNotFound",
    "PriorityClass/urgent",
  ],
  [
    'pods "s" is forbidden: maximum cpu usage per Container is 100m, but limit is 1',
    "LimitRangeViolation",
    "",
  ],
  [
    'pods "s" is forbidden: unable to create new content in namespace team-a because it is being terminated',
    "NamespaceTerminating",
    "Namespace/team-a",
  ],
  [
    'pods is forbidden: User "system:serviceaccount:m:m" cannot create resource "pods" in API group ""',
    "ControllerForbidden",
    "",
  ],
  ['cannot adopt unowned pod "s": missing required pool authorization label', "NameTaken", ""],
  ['PVC "a-s" is owned by Sandbox/t (UID: 1), not by sandbox "s"', "NameTaken", ""],
  ['Pod "s" is invalid: spec.containers[0].image: Required value', "InvalidConfiguration", ""],
  ["something else", "", ""],
];

test.for(cases)("%s: %s", ([words, code, object]) => {
  const refusal = readRefusal(`Error seen: ${words}`, "team-a");
  const { kind = "", name, namespace } = refusal?.object ?? {};
  const seen = kind === "" ? "" : `${kind}/${name}${namespace === undefined ? "" : `@${namespace}`}`;
  expect([refusal?.code ?? "", seen]).toEqual([code, object]);
});

test.for(
  [
    ["Sync error: can't reconcile children for Sandbox a/b: denied", "denied"],
    ["(combined from similar events): Sync error: can't reconcile children for Sandbox a/b: denied", "denied"],
    ["Sync error: sync hook failed: refused", "sync hook failed: refused"],
  ] as const,
)("of an Event only what it quotes: %s", ([message, quoted]) => {
  expect(quotedError(message)).toBe(quoted);
});
