/** What `hookbox doctor` and `hookbox why` tell of the egress proxy. @module */
import { expect, test } from "vitest";
import { renderFinding, runWhy } from "../../packages/cli/commands/why.ts";
import { EGRESS_ALLOW_ANNOTATION, EGRESS_HEADERS_ANNOTATION } from "../../packages/api/objects/keys.ts";
import { aClaim, ago } from "../pools.ts";
import { aSandbox } from "../sandboxes.ts";
import { aTemplate } from "../templates.ts";
import { fakeApi, listOf } from "./fakecontext.ts";
import { type Answers, examine, sound } from "./soundcluster.ts";

const NS = "/namespaces/team-a";
const DEPLOYMENTS = "GET /apis/apps/v1/deployments";
const TEMPLATES = "/apis/extensions.agents.x-k8s.io/v1beta1";
const REVIEW = "POST /apis/authorization.k8s.io/v1/subjectaccessreviews";
const POLICY = `GET /apis/networking.k8s.io/v1${NS}/networkpolicies/hookbox-egress`;
const SECRET = `GET /api/v1${NS}/secrets/example`;
const LOG = `GET /api/v1${NS}/pods/proxy-1/log`;

const proxy = (readyReplicas: number) =>
  listOf("apps/v1", "Deployment", {
    metadata: { name: "hookbox-egress", namespace: "team-a" },
    spec: { replicas: 2, template: { spec: { containers: [] } } },
    status: { readyReplicas },
  });
const state = (name: string) =>
  `{"message":"Starting"}\n{"message":"Checked if the cluster enforces NetworkPolicies","state":"${name}"}\n`;
const toProxy = { to: [{ podSelector: { matchLabels: { "app.kubernetes.io/name": "egress-proxy" } } }] };
const RULES = { [EGRESS_ALLOW_ANNOTATION]: "pypi.org", [EGRESS_HEADERS_ANNOTATION]: "api.example x-key=example/key" };
const env = [
  { name: "HTTPS_PROXY", value: "http://$(HOOKBOX_EGRESS_SERVICE_HOST):3128" },
  { name: "SSL_CERT_FILE", value: "/etc/egress/ca.crt" },
];
const container = { name: "main", image: "x", env, volumeMounts: [{ name: "ca", mountPath: "/etc/egress" }] };

function browsing(spec: object = {}, one: object = {}, annotations: object = RULES) {
  const podTemplate = { spec: { containers: [{ ...container, ...one }] } };
  return aTemplate({
    metadata: { annotations },
    spec: { podTemplate, networkPolicy: { egress: [toProxy] }, ...spec },
  });
}

/** A sound cluster with a proxy and a template that has rules for it. */
const withProxy = (template: object = browsing()): Answers => ({
  ...sound(),
  [DEPLOYMENTS]: proxy(2),
  [`GET ${TEMPLATES}/sandboxtemplates`]: listOf("v1", "SandboxTemplate", template),
  [POLICY]: {},
  [`GET /api/v1${NS}/pods`]: listOf("v1", "Pod", { metadata: { name: "proxy-1" } }),
  [LOG]: state("enforced"),
  [SECRET]: { data: { key: "" } },
  [REVIEW]: { status: 201, body: { status: { allowed: true } } },
});

const linesOf = async (answers: Answers) =>
  (await examine(answers)).stdout.split("\n").filter((line) => /gress/.test(line));

test("a proxy that runs, in a cluster that enforces, with a template that lets nothing else out", async () => {
  const { stdout, code } = await examine(withProxy());
  expect(stdout.split("\n").slice(-3)).toEqual([
    "✓ Egress proxy             2 of 2 replicas of Deployment team-a/hookbox-egress ready; NetworkPolicies are enforced",
    "✓ Egress rules             template team-a/python names the proxy, and lets nothing else out",
    "",
  ]);
  expect(code).toBe(0);
});

test("a cluster without proxies and rules has no lines about them", async () => {
  const plain = aTemplate();
  expect(await linesOf(sound())).toEqual([]);
  expect(await linesOf({ ...withProxy(plain), [DEPLOYMENTS]: listOf("apps/v1", "Deployment") })).toEqual([]);
});

test.each<[string, Answers, RegExp]>([
  ["no proxy", { [DEPLOYMENTS]: listOf("apps/v1", "Deployment") }, /✗ Egress proxy +there is none in namespace team-a/],
  [
    "no replica",
    { [DEPLOYMENTS]: proxy(0) },
    /✗ Egress proxy +0 of 2 replicas .*\n +→ Find out why: kubectl -n team-a/,
  ],
  ["few replicas", { [DEPLOYMENTS]: proxy(1) }, /! Egress proxy +1 of 2 replicas .* are enforced/],
  ["no policy", { [POLICY]: undefined }, /✗ Egress proxy .*its NetworkPolicy hookbox-egress is missing\n +→ Apply it/],
  [
    "nothing enforced",
    { [LOG]: state("not_enforced") },
    /✗ Egress proxy .*does not enforce NetworkPolicies\n +→ Use a/,
  ],
  ["nothing known", { [LOG]: state("unknown") }, /! Egress proxy .*it is not known whether .*\n +→ Run two replicas/],
  ["the last line counts", { [LOG]: state("not_enforced") + state("enforced") }, /✓ Egress proxy .* are enforced/],
  ["no log", { [LOG]: { status: 403, body: { message: "no" } } }, /! Egress proxy .*log cannot be read: no\n +→ Ask/],
  ["no Secret", { [SECRET]: undefined }, /✗ Egress rules .*python: requests to api.example .*\n +→ Correct metadata/],
  [
    "a Secret that the proxy may not read",
    { [REVIEW]: { status: 201, body: { status: { allowed: false } } } },
    /✗ Egress rules .*python: the proxy may not read Secret example\n +→ Let it: kubectl create role/,
  ],
])("of the proxy: %s", async (_, change, words) => {
  const { stdout, code } = await examine({ ...withProxy(), ...change });
  expect(stdout).toMatch(words);
  expect(code).toBe(words.source.startsWith("✗") ? 1 : 0);
});

test.each<[string, object, RegExp]>([
  ["invalid rules", browsing({}, {}, { [EGRESS_ALLOW_ANNOTATION]: "a b" }), /✗ .*"a b" is not a host name/],
  [
    "addresses of Services",
    browsing({
      networkPolicy: undefined,
      podTemplate: { spec: { containers: [{ name: "main" }], enableServiceLinks: false } },
    }),
    /✗ .*enableServiceLinks is false, so .*\n +→ Remove enableServiceLinks/,
  ],
  [
    "DNS",
    browsing({ networkPolicy: { egress: [toProxy, { ports: [{ port: 53 }] }] } }),
    /✗ .*reach more than the proxy/,
  ],
  [
    "a network",
    browsing({ networkPolicy: { egress: [{ to: [...toProxy.to, { ipBlock: { cidr: "10.0.0.0/8" } }] }] } }),
    /✗ .*reach more than the proxy/,
  ],
  ["nothing out", browsing({ networkPolicy: {} }), /✗ .*does not let sandboxes reach the proxy/],
  ["a policy of the user's", browsing({ networkPolicyManagement: "Unmanaged" }), /! .*is Unmanaged.*\n +→ Make sure/],
  ["another proxy", browsing({}, { env: [{ name: "HTTPS_PROXY", value: "http://corp:3128" }] }), /! .*has HTTPS_PROXY/],
  ["no certificate", browsing({}, { volumeMounts: [] }), /! .*no container trusts the certificate authority/],
])("of a template: %s", async (_, template, words) => {
  const { stdout } = await examine(withProxy(template));
  expect(stdout.slice(stdout.indexOf("\n", stdout.indexOf("Egress proxy")))).toMatch(words);
});

const CA = `GET /api/v1${NS}/configmaps/hookbox-egress-ca`;

test("hookbox does the rest for a template that has the annotations alone, if its certificates exist", async () => {
  const plain = browsing({ networkPolicy: undefined }, { env: [], volumeMounts: [] });
  expect((await examine({ ...withProxy(plain), [CA]: {} })).stdout).toContain("✓ Egress rules");
  expect((await examine({ ...withProxy(plain), [CA]: { status: 403, body: {} } })).stdout).toContain("✓ Egress rules");
  expect((await examine(withProxy(plain))).stdout).toMatch(
    /✗ Egress rules .*ConfigMap hookbox-egress-ca does not exist, so its sandboxes do not start\n +→ Create it/,
  );
  const own = browsing({ networkPolicy: undefined }, {
    env: [{ name: "HOOKBOX_EGRESS_SERVICE_HOST", value: "10.0.0.1" }],
  });
  own.spec.podTemplate.spec.enableServiceLinks = false;
  expect((await examine({ ...withProxy(own), [CA]: {} })).stdout).toContain("✓ Egress rules");
});

test("without headers, no certificate is needed", async () => {
  const template = browsing({}, { volumeMounts: [] }, { [EGRESS_ALLOW_ANNOTATION]: "pypi.org" });
  expect((await examine(withProxy(template))).stdout).toContain("✓ Egress rules");
});

/** The claim `session` with the Sandbox `box`, which are Ready. */
function ready(annotations: { claim?: object; template?: object } = {}): Answers {
  const conditions = [{ type: "Ready", status: "True", reason: "Ready", message: "", lastTransitionTime: ago(9000) }];
  return {
    [`GET ${TEMPLATES}${NS}/sandboxclaims/session`]: aClaim("session", {
      metadata: { annotations: annotations.claim },
      status: { conditions, sandbox: { name: "box" } },
    }),
    [`GET /apis/agents.x-k8s.io/v1beta1${NS}/sandboxes/box`]: aSandbox({
      metadata: {
        ...{ name: "box", annotations: { "agents.x-k8s.io/sandbox-template-ref": "python" } },
        ownerReferences: [{
          ...{ apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxClaim", name: "session" },
          ...{ uid: "uid-session", controller: true },
        }],
      },
      status: { conditions },
    }),
    [`GET ${TEMPLATES}${NS}/sandboxtemplates/python`]: aTemplate({ metadata: { annotations: annotations.template } }),
    [SECRET]: { data: { key: "" } },
    [PROXY]: { status: { readyReplicas: 1 } },
    [SERVICE]: { metadata: { name: "hookbox-egress", creationTimestamp: ago(1000) } },
    [POD]: aPod(),
  };
}

const PROXY = `GET /apis/apps/v1${NS}/deployments/hookbox-egress`;
const SERVICE = `GET /api/v1${NS}/services/hookbox-egress`;
const POD = `GET /api/v1${NS}/pods/box`;

function aPod(spec: object = {}, seconds = 900): object {
  return {
    metadata: { name: "box", namespace: "team-a" },
    spec: { containers: [{ env }], ...spec },
    status: { containerStatuses: [{ state: { running: { startedAt: ago(seconds) } } }] },
  };
}

test.each<[string, object, RegExp]>([
  [
    "there is no proxy",
    { [PROXY]: undefined },
    /^EgressProxyNotReady: .*Deployment "hookbox-egress" does not exist, so/,
  ],
  [
    "no proxy is Ready",
    { [PROXY]: { status: { replicas: 2 } } },
    /^EgressProxyNotReady: .* has no Pod that is Ready, so/,
  ],
  [
    "there is no Service",
    { [SERVICE]: undefined },
    /^EgressProxyNotReady: .*Service "hookbox-egress" does not exist, so/,
  ],
  ["the Pod is older", { [POD]: aPod({}, 1100) }, /^EgressAddressMissing: .*started before Service hookbox-egress was/],
  [
    "there are no links",
    { [POD]: aPod({ enableServiceLinks: false }) },
    /^EgressAddressMissing: .*enableServiceLinks is/,
  ],
])("why tells that %s", async (_, change, words) => {
  const answers = { ...ready({ template: RULES }), ...change };
  expect(renderFinding(await runWhy(fakeApi(answers), "claim/session", "team-a"), { color: false })).toMatch(words);
});

test.each<[string, object]>([
  ["the Pod has another address", {
    [POD]: aPod({ containers: [{ env: [{ name: "HTTPS_PROXY", value: "x" }] }] }, 1100),
  }],
  ["nobody may read the proxy", { [PROXY]: { status: 403, body: {} }, [SERVICE]: { status: 403, body: {} } }],
  ["the Pod is gone", { [POD]: undefined }],
])("why finds nothing wrong if %s", async (_, change) => {
  expect((await runWhy(fakeApi({ ...ready({ template: RULES }), ...change }), "claim/session", "team-a")).code).toBe(
    "Ready",
  );
});

test.each(["claim/session", "sandbox/box"])(
  "why %s names a fault of the rules, and where to correct it",
  async (name) => {
    const answers = ready({ claim: { [EGRESS_ALLOW_ANNOTATION]: "evil.example" }, template: RULES });
    const text = renderFinding(await runWhy(fakeApi(answers), name, "team-a"), { color: false });
    expect(text).toMatch(
      /^EgressRulesInvalid: .* is Ready, but the egress proxy refuses requests: "evil.example" is not reached/,
    );
    expect(text).toContain("\nObject:   claim/session in namespace team-a\n");
    expect(text).toContain("Do:       Correct the annotation that the evidence names.\n");
  },
);

test("why names a missing Secret, and does not show the value of one", async () => {
  const template = RULES;
  const missing = await runWhy(fakeApi({ ...ready({ template }), [SECRET]: undefined }), "claim/session", "team-a");
  expect(missing.summary).toMatch("from Secret example, which does not exist");
  const other = { ...ready({ template }), [SECRET]: { data: { other: "czNjcjN0" } } };
  const found = await runWhy(fakeApi(other), "template/python", "team-a");
  expect(JSON.stringify(found)).not.toMatch("czNjcjN0");
});

test("rules without a fault, no rules, and a Secret that the caller may not read are Ready", async () => {
  const code = async (answers: Answers) => (await runWhy(fakeApi(answers), "claim/session", "team-a")).code;
  expect(await code(ready())).toBe("Ready");
  expect(await code(ready({ template: RULES }))).toBe("Ready");
  expect(await code({ ...ready({ template: RULES }), [SECRET]: { status: 403, body: {} } })).toBe("Ready");
});
