/** What members of a template with rules for the egress proxy have, and that the guard wants the same. @module */
import type { V1PodSpec } from "@kubernetes/client-node";
import { expect, test } from "vitest";
import { blueprintHash, securedPodSpec } from "../../../hooks/sandboxwarmpool/blueprint.ts";
import { sandboxWarmPoolHook } from "../../../hooks/sandboxwarmpool/hook.ts";
import type { Sandbox } from "../../../packages/api/sandbox.ts";
import type { SandboxTemplate } from "../../../packages/api/sandboxtemplate.ts";
import { aPoolRequest, CONFIG } from "../../poolcalls.ts";
import { NOW } from "../../sandboxes.ts";
import { aPolicy, aTemplate } from "../../templates.ts";

const ALLOW = { "agents.x-k8s.io/egress-allow": "pypi.org" };
const HEADERS = { "agents.x-k8s.io/egress-headers": "api.example x-key=example/key" };
const BOTH = { ...ALLOW, ...HEADERS };
const ADDRESS = "http://$(HOOKBOX_EGRESS_SERVICE_HOST):3128";
const PROXY = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];
const CA = "SSL_CERT_FILE REQUESTS_CA_BUNDLE PIP_CERT CURL_CA_BUNDLE GIT_SSL_CAINFO NODE_EXTRA_CA_CERTS DENO_CERT"
  .split(" ");
const LOCAL = "localhost,127.0.0.1,::1";
const MOUNT = { name: "hookbox-egress-ca", mountPath: "/etc/hookbox-egress", readOnly: true };
const VOLUME = { name: "hookbox-egress-ca", configMap: { name: "hookbox-egress-ca" } };

/** A template whose Pod has one container, if not told otherwise. */
function egressTemplate(annotations: object, container: object = {}, pod: Partial<V1PodSpec> = {}, spec: object = {}) {
  const containers = [{ name: "main", image: "python", ...container }];
  return aTemplate({ metadata: { annotations }, spec: { podTemplate: { spec: { containers, ...pod } }, ...spec } });
}

/** The variables of the first container, by name. */
function variablesOf({ containers: [first] }: V1PodSpec): Record<string, string | undefined> {
  return Object.fromEntries((first?.env ?? []).map(({ name, value }) => [name, value]));
}

const proxied = { ...Object.fromEntries(PROXY.map((name) => [name, ADDRESS])), NODE_USE_ENV_PROXY: "1" };
const local = { NO_PROXY: LOCAL, no_proxy: LOCAL };
const trusting = Object.fromEntries(CA.map((name) => [name, "/etc/hookbox-egress/ca.crt"]));
const env = (variables: Record<string, string>) => ({
  env: Object.entries(variables).map(([name, value]) => ({ name, value })),
});

const cases: [name: string, template: SandboxTemplate, variables: object, pod: object][] = [
  ["no rules", egressTemplate({ "agents.x-k8s.io/egress": "x" }), {}, { volumes: undefined }],
  ["a list of hosts: no certificates", egressTemplate(ALLOW), { ...proxied, ...local }, { volumes: undefined }],
  ["headers", egressTemplate(HEADERS), { ...proxied, ...local, ...trusting }, { volumes: [VOLUME] }],
  [
    "headers of claims, which do not exist when a member starts",
    egressTemplate({ ...ALLOW, "agents.x-k8s.io/egress-claim-headers": "Allowed" }),
    { ...proxied, ...local, ...trusting },
    { volumes: [VOLUME] },
  ],
  ["an empty list", egressTemplate({ "agents.x-k8s.io/egress-allow": "" }), { ...proxied, ...local }, {}],
  [
    "other variables, which come first",
    egressTemplate(ALLOW, env({ HOOKBOX_EGRESS_SERVICE_HOST: "10.0.0.1" })),
    { HOOKBOX_EGRESS_SERVICE_HOST: "10.0.0.1", ...proxied, ...local },
    {},
  ],
  [
    "another proxy: it wins, in all its variables",
    egressTemplate(BOTH, env({ https_proxy: "http://corp:3128" })),
    { https_proxy: "http://corp:3128", ...trusting },
    {},
  ],
  [
    "exceptions: a second list would contradict them",
    egressTemplate(ALLOW, env({ NO_PROXY: "intern" })),
    { NO_PROXY: "intern", ...proxied },
    {},
  ],
  [
    "a switch of Node",
    egressTemplate(ALLOW, env({ NODE_USE_ENV_PROXY: "0" })),
    { ...proxied, NODE_USE_ENV_PROXY: "0", ...local },
    {},
  ],
  [
    "certificates: no volume either",
    egressTemplate(BOTH, env({ GIT_SSL_CAINFO: "/ca" })),
    { GIT_SSL_CAINFO: "/ca", ...proxied, ...local },
    { volumes: undefined },
  ],
  [
    "something in the place of the mount: two mounts there would be invalid",
    egressTemplate(HEADERS, { volumeMounts: [{ name: "own", mountPath: "/etc/hookbox-egress/" }] }),
    { ...proxied, ...local, ...trusting },
    { containers: [expect.objectContaining({ volumeMounts: [{ name: "own", mountPath: "/etc/hookbox-egress/" }] })] },
  ],
  [
    "a volume of the name: it is mounted",
    egressTemplate(HEADERS, {}, { volumes: [{ name: VOLUME.name, emptyDir: {} }] }),
    { ...proxied, ...local, ...trusting },
    {
      volumes: [{ name: VOLUME.name, emptyDir: {} }],
      containers: [expect.objectContaining({ volumeMounts: [MOUNT] })],
    },
  ],
  [
    "init containers, which may fetch something",
    egressTemplate(HEADERS, env({ SSL_CERT_FILE: "/ca", HTTP_PROXY: "x" }), {
      initContainers: [{ name: "init", volumeMounts: [{ name: "data", mountPath: "/data" }] }],
    }),
    { SSL_CERT_FILE: "/ca", HTTP_PROXY: "x" },
    {
      initContainers: [expect.objectContaining({ volumeMounts: [{ name: "data", mountPath: "/data" }, MOUNT] })],
      volumes: [VOLUME],
    },
  ],
];

/** The member that the hook makes; the guard's words if it refuses it. */
function memberOf(template: SandboxTemplate, stamp = "uid-python/1/egress"): Sandbox | string {
  const annotations = { "agents.x-k8s.io/template-generation": stamp };
  const policy = aPolicy({ metadata: { annotations } });
  const outcome = sandboxWarmPoolHook(CONFIG).sync(aPoolRequest({ template, policy }), NOW);
  if ("refusal" in outcome) return outcome.refusal.message;
  return ((outcome.answer as { children: Sandbox[] }).children[0]) ?? "no member";
}

test.for(cases)("a template with %s", ([, template, variables, pod]) => {
  const secured = securedPodSpec(template);
  expect(variablesOf(secured)).toEqual(variables);
  expect({ volumes: undefined, ...secured }).toMatchObject(pod);
  const stamp = variables && Object.keys(template.metadata.annotations ?? {}).some((key) => /egress-/.test(key));
  expect(memberOf(template, `uid-python/1${stamp ? "/egress" : ""}`)).toMatchObject({
    spec: { podTemplate: { spec: secured } },
  });
});

const REFUSED = {
  dnsPolicy: "None",
  dnsConfig: {
    nameservers: ["127.0.0.1"],
    options: [{ name: "timeout", value: "1" }, { name: "attempts", value: "1" }],
  },
};
test.for<[string, SandboxTemplate, object]>([
  ["hookbox's rules: names are not resolved, at once", egressTemplate(ALLOW), REFUSED],
  ["a DNS policy", egressTemplate(ALLOW, {}, { dnsPolicy: "ClusterFirst" }), { dnsPolicy: "ClusterFirst" }],
  ["rules of its own", egressTemplate(ALLOW, {}, {}, { networkPolicy: {} }), {}],
  ["no policy of hookbox", egressTemplate(ALLOW, {}, {}, { networkPolicyManagement: "Unmanaged" }), {}],
])("DNS of a template with %s", ([, template, want]) => {
  const { dnsPolicy, dnsConfig } = securedPodSpec(template);
  expect(JSON.parse(JSON.stringify({ dnsPolicy, dnsConfig }))).toEqual(want);
  const stamp = "dnsPolicy" in want ? "uid-python/1/egress" : "uid-python/1";
  expect(memberOf(template, stamp)).toMatchObject({ spec: { podTemplate: { spec: want } } });
});

test("a template that writes everything itself has the same Pod with and without rules", () => {
  const container = {
    ...env({
      ...Object.fromEntries(PROXY.map((name) => [name, ADDRESS])),
      NODE_USE_ENV_PROXY: "1",
      SSL_CERT_FILE: "/ca",
    }),
    volumeMounts: [{ name: "ca", mountPath: "/etc/egress" }],
  };
  const byHand = (annotations: object) => egressTemplate(annotations, container, {}, { networkPolicy: {} });
  expect(securedPodSpec(byHand(BOTH))).toEqual(securedPodSpec(byHand({})));
  expect(blueprintHash(byHand(BOTH))).toBe(blueprintHash(byHand({})));
});

test("another text of the annotations makes no member stale; that they come or go does", () => {
  const of = (annotations: object) => blueprintHash(egressTemplate(annotations));
  expect(of({ "agents.x-k8s.io/egress-allow": "other.example" })).toBe(of(ALLOW));
  expect(new Set([of({}), of(ALLOW), of(BOTH)]).size).toBe(3);
});

test.for<[string, SandboxTemplate, string]>([
  ["the default rules", egressTemplate(ALLOW), "uid-python/1"],
  ["the rules of an earlier generation", egressTemplate(ALLOW), "uid-python/0/egress"],
  ["the rules for the proxy, which are not its own", egressTemplate({}), "uid-python/1/egress"],
])("no member starts while the policy still has %s", ([, template, stamp]) => {
  expect(memberOf(template, stamp)).toBe("no member");
});
