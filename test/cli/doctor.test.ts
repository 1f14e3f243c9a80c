/** `hookbox doctor` against API servers of the test's: a sound one, one without anything, one that says nothing. @module */
import { expect, test } from "vitest";
import { covers } from "../../packages/cli/doctor/server.ts";
import type { Api } from "../../packages/kube/api.ts";
import { fakeApi, listOf, run } from "./fakecontext.ts";
import { aLease, type Answers, BINDER, engine, examine, fetch, KEEPER, METACONTROLLER, sound } from "./soundcluster.ts";

const marks = (stdout: string) =>
  stdout.split("\n").filter((text) => /^[✓!✗]/.test(text)).map((text) => text[0]).join("");

test.for([
  { ready: 2, mark: "✓" },
  { ready: 1, mark: "!" },
  { ready: 0, mark: "✗" },
])(
  "a hook with a Deployment of its own is as ready as that says ($ready of 2), and is not asked",
  async ({ ready, mark }) => {
    const answers = sound();
    delete answers["GET /api/v1/namespaces/test/services/hooks:80/proxy/healthz"];
    answers["GET /apis/apps/v1/namespaces/test/deployments/hooks"] = {
      metadata: { namespace: "test", name: "hooks" },
      spec: { replicas: 2 },
      status: ready === 0 ? {} : { readyReplicas: ready },
    };
    const { code, stdout } = await examine(answers);
    const line = `${mark} Hook sandboxwarmpool     ${ready} of 2 replicas of Deployment test/hooks ready`;
    expect(stdout).toContain(line);
    expect(code).toBe(ready === 0 ? 1 : 0);
  },
);

test("a sound cluster has nothing but ✓, and code 0", async () => {
  const { code, stdout, stderr } = await examine(sound());
  expect(stdout).toMatchInlineSnapshot(`
    "✓ API server               v1.36.3 at https://fake (the test)
    ✓ CRD sandboxes            v1beta1
    ✓ CRD sandboxclaims        v1beta1
    ✓ CRD sandboxtemplates     v1beta1
    ✓ CRD sandboxwarmpools     v1beta1
    ✓ Metacontroller           metacontroller:v4.17.2, 1 Pod
    ✓ Controllers              sandbox, sandboxwarmpool, sandboxclaim, sandboxtemplate
    ✓ Hook sandbox             answers at hooks.test:8080
    ✓ Hook sandboxwarmpool     answers at hooks.test.svc
    ✓ Hook sandboxclaim        answers at 10.0.0.1:8080
    ✓ Hook sandboxtemplate     answers at hooks.test:8080
    ✓ Keeper                   k1 holds Lease hookbox-system/hookbox-keeper, renewed 2s ago
    ✓ Binder                   b1 holds Lease hookbox-system/hookbox-binder, renewed 1s ago
    ✓ Router                   answers at http://r
    ✓ Your rights              complete for SDK and command line in namespace default
    ✓ RuntimeClasses           gvisor
    ✓ StorageClass             fast is the default
    "
  `);
  expect({ code, stderr, marks: marks(stdout) }).toEqual({ code: 0, stderr: "", marks: "✓".repeat(17) });
});

test("each thing that is wrong has its mark and its remedy", async () => {
  const bad: [string, unknown, RegExp][] = [
    ["GET /api/v1/pods", listOf("v1", "Pod", engine("--workers=20")), /! Metacontroller .*5 requests per second\n +→ /],
    [
      "GET /api/v1/pods",
      listOf("v1", "Pod", engine("--apply-strategy", "server-side-apply")),
      /✗ Metacontroller .*server-side/,
    ],
    ["GET /api/v1/pods", listOf("v1", "Pod"), /! Metacontroller +no Pod of it was found\n +→ Install Metacontroller/],
    [`GET ${METACONTROLLER}/compositecontrollers/sandbox`, undefined, /✗ Controllers +missing: sandbox\n +→ /],
    [
      "GET /api/v1/namespaces/test/services/hooks:80/proxy/healthz",
      undefined,
      /✗ Hook sandboxwarmpool +does not answer/,
    ],
    [KEEPER, listOf("v1", "Lease"), /✗ Keeper +nobody holds Lease hookbox-keeper \(there is none\)\n +→ /],
    [
      KEEPER,
      aLease("hookbox-keeper", { holderIdentity: "k1", leaseDurationSeconds: 15 }, 120),
      /✗ Keeper +nobody holds Lease hookbox-keeper \(k1 renewed Lease hookbox-system\/hookbox-keeper 2m ago\)\n +→ /,
    ],
    [BINDER, listOf("v1", "Lease"), /✗ Binder +nobody holds Lease hookbox-binder: claims are not served .*\n +→ /],
    [
      BINDER,
      aLease("hookbox-binder", { holderIdentity: "b1", leaseDurationSeconds: 5 }, 5),
      /✗ Binder +nobody holds Lease hookbox-binder: claims are not served \(b1 renewed .* 5s ago\)/,
    ],
    [
      BINDER,
      aLease("hookbox-binder", { leaseDurationSeconds: 1 }, 0),
      /✗ Binder +nobody holds Lease hookbox-binder: claims are not served \(released 0s ago\)/,
    ],
    [BINDER, { status: 403, body: { message: "leases is forbidden" } }, /! Binder +cannot be read: .*not found/],
    [
      "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
      { status: 201, body: { status: { allowed: false } } },
      /✗ Your rights +in namespace default you may not create sandboxclaims, /,
    ],
    ["GET /apis/node.k8s.io/v1/runtimeclasses", listOf("v1", "R"), /! RuntimeClasses +none/],
    [
      "GET /apis/storage.k8s.io/v1/storageclasses",
      listOf("v1", "S"),
      /! StorageClass +no default \(existing: none\)/,
    ],
  ];
  // Several at once, but one answer for each request.
  for (let left = bad; left.length > 0;) {
    const now = left.filter(([request], i) => left.findIndex(([other]) => other === request) === i);
    left = left.filter((one) => !now.includes(one));
    const { code, stdout } = await examine({ ...sound(), ...Object.fromEntries(now) });
    for (const [, , words] of now) expect(stdout).toMatch(words);
    expect(code).toBe(now.some(([, , { source }]) => source.startsWith("✗")) ? 1 : 0);
  }
});

test("a CRD of another version is said to be stale, one that is missing fails", async () => {
  const request = "GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions/sandboxes.agents.x-k8s.io";
  const answers = sound();
  const stale = structuredClone(answers[request]) as { spec: { versions: { schema?: unknown }[] } };
  for (const version of stale.spec.versions) version.schema = { openAPIV3Schema: { type: "object" } };
  expect((await examine({ ...answers, [request]: stale })).stdout).toMatch(/! CRD sandboxes +.*of this version/);
  const missing = await examine({ ...answers, [request]: undefined });
  expect(missing).toMatchObject({ code: 1, stdout: expect.stringMatching(/✗ CRD sandboxes .*\n +→ Install them/) });
});

test("nothing else is asked of an API server that is too old", async () => {
  const { code, stdout } = await examine({ "GET /version": { gitVersion: "v1.29.9", minor: "29+" } });
  expect(code).toBe(1);
  expect(stdout).toMatch(/^✗ API server +v1.29.9 at .*\n +→ Use Kubernetes 1.30 or later.\n$/);
});

test("without an API server the first line says all", async () => {
  const api: Api = { ...fakeApi({}), send: () => Promise.reject(new Error("Cannot reach https://fake: refused")) };
  const { code, stdout } = await run("doctor", { api });
  expect({ code, stdout }).toEqual({
    code: 1,
    stdout: "✗ API server               Cannot reach https://fake: refused\n" +
      "                           → Check --kubeconfig, --context and whether the cluster runs.\n",
  });
});

test("-o json is a list; colours come on a terminal only, and not with NO_COLOR", async () => {
  const list = JSON.parse((await examine(sound(), "doctor --router http://r -o json")).stdout);
  expect(list[0]).toMatchObject({ mark: "ok", what: "API server" });
  const setting = { api: fakeApi(sound()), fetch, isTTY: true };
  expect((await run("doctor", setting)).stdout).toContain("\x1b[32m✓\x1b[0m");
  expect((await run("doctor", { ...setting, env: { NO_COLOR: "1" } })).stdout).not.toContain("\x1b");
});

test("covers() takes defaults that the API server has added, and nothing that is missing", () => {
  expect(covers({ a: 1, b: [{ c: 1, d: 2 }] }, { a: 1, b: [{ c: 1 }] })).toBe(true);
  expect(covers({ a: 1 }, { a: 1, b: undefined })).toBe(true);
  expect(covers({ a: 1 }, { a: 2 })).toBe(false);
  expect(covers({ b: [1] }, { b: [1, 2] })).toBe(false);
  expect(covers(null, {})).toBe(false);
});

const DEPLOYMENTS = "GET /apis/apps/v1/deployments";
const routers = (readyReplicas: number) =>
  listOf("apps/v1", "Deployment", {
    metadata: { name: "sandbox-router", namespace: "agent-sandbox-system" },
    spec: { replicas: 2, template: { spec: { containers: [] } } },
    status: { readyReplicas },
  });
const FORBIDDEN = { status: 403, body: { message: "you may not" } };

test.for([
  [{ [DEPLOYMENTS]: routers(2) }, "✓ Router +2 of 2 replicas of Deployment agent-sandbox-system/sandbox-router ready"],
  [{ [DEPLOYMENTS]: routers(0) }, "✗ Router +0 of 2 replicas"],
  [{}, "! Router +there is none"],
  [
    {
      [DEPLOYMENTS]: FORBIDDEN,
      "GET /apis/apps/v1/namespaces/agent-sandbox-system/deployments": FORBIDDEN,
    },
    "! Router +cannot be looked for: you may not",
  ],
  [
    { [DEPLOYMENTS]: FORBIDDEN, "GET /apis/apps/v1/namespaces/agent-sandbox-system/deployments": routers(2) },
    "✓ Router +2 of 2 replicas",
  ],
] as [Answers, string][])("doctor looks for the router itself: %#", async ([answers, line]) => {
  expect((await examine({ ...sound(), ...answers }, "doctor")).stdout).toMatch(new RegExp(`^${line}`, "m"));
});

const PODS = "GET /api/v1/namespaces/agent-sandbox-system/pods";
const routerWith = (...args: string[]) =>
  listOf("apps/v1", "Deployment", {
    metadata: { name: "sandbox-router", namespace: "agent-sandbox-system" },
    spec: { template: { spec: { containers: [{ args: ["router/main.js", ...args] }] } } },
    status: { readyReplicas: 1 },
  });
const podOf = (...names: string[]) =>
  listOf("v1", "Pod", { metadata: { name: "r" }, spec: { containers: names.map((name) => ({ name })) }, status: {} });

test.for<[args: string[], pods: unknown, line: string]>([
  [
    [],
    podOf("router"),
    "✓ clients with a token whose user may connect to the Sandbox; also clients of kubectl port-forward \\(who may create " +
    "pods/portforward in agent-sandbox-system\\)",
  ],
  [[], podOf("router", "envoy"), "✓ clients .*; kubectl port-forward is not enough: the router's Pod has 2 containers"],
  [[], FORBIDDEN, "✓ clients .*; kubectl port-forward is not enough: its Pods cannot be read"],
  [["--no-trust-port-forward"], podOf("router"), "✓ clients .*; kubectl port-forward is not enough: .*--no-trust-port"],
  [
    ["--authz-mode=scoped-token", "--authz-scoped-token-secret-file=f"],
    podOf("router"),
    "✓ .* signed for the Sandbox; also",
  ],
  [["--authz-mode", "allow-all"], podOf("router"), "! every client that can reach it, without a token\n +→ Keep other"],
  [["--no-authz-tokenreview-require-token"], podOf("router"), "! every client .*: a token is not required"],
  [["--of-another-router"], podOf("router"), "! the router's options cannot be read"],
])("doctor says whom a router with %j lets in", async ([args, pods, line]) => {
  const answers = { ...sound(), [DEPLOYMENTS]: routerWith(...args), [PODS]: pods } as Answers;
  const [mark, ...rest] = line.split(" ");
  expect((await examine(answers, "doctor")).stdout).toMatch(
    new RegExp(`^${mark} Router access +${rest.join(" ")}`, "m"),
  );
});

test("who may not list Pods is not told to install Metacontroller", async () => {
  const { stdout } = await examine({
    ...sound(),
    "GET /api/v1/pods": FORBIDDEN,
    "GET /apis/agents.x-k8s.io/v1beta1/sandboxes": FORBIDDEN,
  });
  expect(stdout).toMatch(/^! Metacontroller +cannot be checked: you may not$/m);
  expect(stdout).not.toContain("Install Metacontroller");
});
