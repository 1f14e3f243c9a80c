/** `hookbox uninstall`: what it deletes, leaves and refuses. @module */
import { expect, test } from "vitest";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { run } from "./fakecontext.ts";
import { SANDBOXES_CRD, server } from "./installserver.ts";

const installed = async () => {
  const api = server();
  await run("install --apply --image r/h:1", { api });
  return api;
};
const kinds = (api: { stored: Map<string, object> }) =>
  new Set([...api.stored.values()].map((object) => (object as KubeObject).kind));

test("says what it would delete, and deletes nothing", async () => {
  const api = await installed();
  const before = api.stored.size;
  const { code, stdout } = await run("uninstall", { api });
  expect([code, api.stored.size]).toEqual([0, before]);
  expect(stdout).toContain("deployment.apps/sandbox deleted (dry run)\n");
  expect(stdout).toMatch(/\nNothing was deleted: use --apply\.\n$/);
});

test("takes all back but namespaces and CRDs, controllers first, and says what is left", async () => {
  const api = await installed();
  const { code, stdout } = await run("uninstall --apply", { api });
  expect(code).toBe(0);
  expect(kinds(api)).toEqual(new Set(["Namespace", "CustomResourceDefinition"]));
  expect(stdout).toMatch(/^(composite|decorator)controller\.metacontroller\.k8s\.io\//);
  expect(stdout).toContain("Kept: the namespaces hookbox-system and agent-sandbox-system.\n");
  expect(stdout).toContain(
    "Kept: the CRDs, with 7 sandboxes, 0 sandboxclaims, 0 sandboxwarmpools, 0 sandboxtemplates.",
  );
  const again = await run("uninstall --apply", { api });
  expect(again.stdout).not.toContain(" deleted");
});

test("takes the CRDs where that is asked for", async () => {
  const api = await installed();
  await run("uninstall --apply --crds", { api });
  expect(kinds(api)).toEqual(new Set(["Namespace"]));
});

test("leaves to Helm what Helm has brought", async () => {
  const api = await installed();
  const path = "/apis/apps/v1/namespaces/hookbox-system/deployments/sandbox";
  const { metadata, ...rest } = api.stored.get(path) as KubeObject;
  const annotations = { "meta.helm.sh/release-name": "mine", "meta.helm.sh/release-namespace": "there" };
  api.stored.set(path, { ...rest, metadata: { ...metadata, annotations } });
  const { code, stderr } = await run("uninstall --apply", { api });
  expect([code, api.stored.has(path)]).toEqual([1, true]);
  expect(stderr).toContain(
    "Cannot delete Deployment sandbox: it was installed with Helm\nUse: helm uninstall mine -n there",
  );
});

test("says how to delete a CRD that Helm keeps", async () => {
  const api = await installed();
  const { metadata, ...rest } = api.stored.get(SANDBOXES_CRD) as KubeObject;
  const kept = { "meta.helm.sh/release-name": "mine", "helm.sh/resource-policy": "keep" };
  api.stored.set(SANDBOXES_CRD, { ...rest, metadata: { ...metadata, annotations: kept } });
  const { code, stderr } = await run("uninstall --apply --crds", { api });
  expect([code, api.stored.has(SANDBOXES_CRD)]).toEqual([1, true]);
  expect(stderr).toContain("kubectl delete customresourcedefinition.apiextensions.k8s.io/sandboxes.agents.x-k8s.io");
});

const LEASE = "/apis/coordination.k8s.io/v1/namespaces/hookbox-system/leases/hookbox-keeper";

test.for([
  { forbidden: /(?!)/, isLeft: false, why: "all else was deleted" },
  { forbidden: /\/deployments\/hookbox-keeper$/, isLeft: true, why: "a keeper runs on, and leads by it" },
])("Leases: left is $isLeft where $why", async ({ forbidden, isLeft }) => {
  const api = await installed();
  api.stored.set(LEASE, { kind: "Lease", metadata: { name: "hookbox-keeper" } });
  api.forbidden = forbidden;
  const { code } = await run("uninstall --apply", { api });
  expect([code, api.stored.has(LEASE)]).toEqual([isLeft ? 1 : 0, isLeft]);
});

test.for(["uninstall --apply", "uninstall --apply --crds", "uninstall"])(
  "%s refuses while API servers ask the hook for v1alpha1, and says how to switch that off",
  async (line) => {
    const api = await installed();
    const ask = (namespace?: string) => {
      const crd = api.stored.get(SANDBOXES_CRD) as KubeObject & { spec: object };
      const clientConfig = namespace === undefined ? {} : { service: { namespace, name: "conversion" } };
      const conversion = { strategy: "Webhook", webhook: { clientConfig } };
      api.stored.set(SANDBOXES_CRD, { ...crd, spec: { ...crd.spec, conversion } });
    };
    const before = api.stored.size;
    for (const namespace of ["hookbox-system", undefined]) {
      ask(namespace);
      const { code, stdout, stderr } = await run(line, { api });
      expect({ code, stdout, size: api.stored.size }).toEqual({ code: 1, stdout: "", size: before });
      expect(stderr).toMatch(
        /^Cannot uninstall: API servers use .* sandboxes\.agents\.x-k8s\.io\nSwitch v1alpha1 off first: kubectl apply .*\n$/,
      );
    }
    // A hook of somebody else's goes on answering.
    ask("agent-sandbox-system");
    expect(await run(line, { api })).toMatchObject({ code: 0, stdout: expect.stringContaining(" deleted") });
  },
);

test("without an API server it says so once", async () => {
  const api = await installed();
  const send = () => Promise.reject(new Error("Cannot reach https://fake: refused"));
  const ran = await run("uninstall --apply", { api: { ...api, send } });
  expect(ran).toEqual({ code: 1, stdout: "", stderr: "Cannot reach https://fake: refused\n" });
});
