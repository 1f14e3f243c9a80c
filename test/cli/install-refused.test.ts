/** `hookbox install` where a cluster will not have it, or already has something else. @module */
import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import type { ApiRequest } from "../../packages/kube/api.ts";
import { run } from "./fakecontext.ts";
import { SANDBOXES_CRD, type Server, server } from "./installserver.ts";

const IMAGE = "--image r/h:1";
const written = (api: Server) => api.requests.filter(({ method }) => method === "PATCH").map(({ path }) => path);

describe("what others need", () => {
  test.for([
    { forbidden: /\/customresourcedefinitions\//, lines: 5, patches: 6 },
    { forbidden: /\/namespaces\/hookbox-system$/, lines: 2, patches: 6 },
  ])("comes first, and without it nothing else is applied ($forbidden)", async ({ forbidden, lines, patches }) => {
    const api = server();
    api.forbidden = forbidden;
    const { code, stderr } = await run(`install --apply --wait ${IMAGE}`, { api });
    expect(code).toBe(1);
    expect(stderr.trimEnd().split("\n")).toHaveLength(lines);
    expect(stderr).toMatch(/\nNothing else was applied: it needs these namespaces and CRDs\.\n$/);
    expect(written(api)).toHaveLength(patches);
    expect(written(api).filter((path) => !/customresourcedefinitions|\/api\/v1\/namespaces\/[^/]+$/.test(path)))
      .toEqual([]);
  });

  test("what nothing else needs is said, and the rest is applied", async () => {
    const api = server();
    api.forbidden = /\/serviceaccounts\/hookbox-hooks$/;
    const { code, stderr } = await run(`install --apply ${IMAGE}`, { api });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^Cannot apply ServiceAccount hookbox-hooks: .*\n$/)]);
    expect([...api.stored.keys()].some((path) => path.includes("/decoratorcontrollers/"))).toBe(true);
  });
});

test.for([0, 1, 30])(
  "an API server that does not answer after %i requests is said once, and ends it",
  async (answers) => {
    const api = server();
    const send = (request: ApiRequest) =>
      api.requests.length < answers
        ? api.send(request)
        : Promise.reject(new Error("Cannot reach https://fake: refused"));
    for (const args of ["--apply", `--apply ${IMAGE}`, "--dry-run"]) {
      api.requests.length = 0;
      const { code, stderr } = await run(`install ${args}`, { api: { ...api, send } });
      if (answers < 30 || args.includes(IMAGE)) expect(stderr).toBe("Cannot reach https://fake: refused\n");
      expect(code).toBe(1);
    }
  },
);

describe("without --image", () => {
  const path = (name: string) => `/apis/apps/v1/namespaces/hookbox-system/deployments/${name}`;
  const imageOf = (api: Server, name: string) =>
    JSON.stringify(api.stored.get(path(name))).match(/"image":"([^"]*)"/)?.[1];

  test("each Deployment keeps its own image", async () => {
    const api = server();
    await run(`install --apply ${IMAGE}`, { api });
    const text = JSON.stringify(api.stored.get(path("sandbox"))).replace("r/h:1", "r/h:2");
    api.stored.set(path("sandbox"), JSON.parse(text));
    for (const line of ["install --dry-run", "install --apply"]) {
      const { code, stdout, stderr } = await run(line, { api });
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).not.toMatch(/created|configured/);
    }
    expect([imageOf(api, "sandbox"), imageOf(api, "hookbox-keeper")]).toEqual(["r/h:2", "r/h:1"]);
    await run("install --apply --image r/h:3", { api });
    expect([imageOf(api, "sandbox"), imageOf(api, "hookbox-keeper")]).toEqual(["r/h:3", "r/h:3"]);
  });

  test("it refuses where a Deployment is to be made, and writes nothing", async () => {
    const api = server();
    await run(`install --apply ${IMAGE}`, { api });
    api.stored.delete(path("hookbox-binder"));
    api.requests.length = 0;
    const { code, stderr } = await run("install --apply", { api });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "Cannot choose an image: these Deployments do not exist yet: " +
        "hookbox-system/hookbox-binder\nName one that nodes can pull: --image REGISTRY/hookbox:TAG\n",
    });
    expect(written(api)).toEqual([]);
  });

  test("nothing is asked for where no Deployment is installed", async () => {
    expect(await run("install --apply --no-processes", { api: server() })).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("a CRD that has more versions", () => {
  const more = async (versions: object[], status = {}, converter = "conversion") => {
    const api = server();
    await run(`install --apply ${IMAGE}`, { api });
    const { spec, ...crd } = api.stored.get(SANDBOXES_CRD) as KubeObject & { spec: { versions: object[] } };
    const service = { namespace: "hookbox-system", name: converter };
    const conversion = { strategy: "Webhook", webhook: { clientConfig: { service } } };
    const live = { ...crd, status, spec: { ...spec, conversion, versions: [...spec.versions, ...versions] } };
    api.stored.set(SANDBOXES_CRD, live);
    return { api, live };
  };

  test.for([
    { how: "serves", versions: [{ name: "v1alpha1", served: true, storage: false }], stored: ["v1beta1"] },
    { how: "stores", versions: [{ name: "v1alpha1", served: false, storage: false }], stored: ["v1alpha1", "v1beta1"] },
  ])("is refused while the cluster $how them, with --force, too", async ({ how, versions, stored }) => {
    for (const line of [`install --apply --force ${IMAGE}`, `install --apply ${IMAGE}`, "install --dry-run"]) {
      const { api, live } = await more(versions, { storedVersions: stored });
      const { code, stderr } = await run(line, { api });
      expect([code, api.stored.get(SANDBOXES_CRD)]).toEqual([1, live]);
      expect(stderr).toContain(
        `Cannot apply CustomResourceDefinition sandboxes.agents.x-k8s.io: it would remove v1alpha1, which the cluster ` +
          `${how}; --force does not change that\nTo keep v1alpha1, apply deploy/v1alpha1, or set v1alpha1.enabled of the chart`,
      );
      expect(stderr).toMatch(/then: hookbox install --apply --no-crds\. .*v1alpha1.*\nNothing else was applied/);
    }
  });

  test("of another controller is taken over with --force, as long as nothing is stored in what goes, and not without", async () => {
    const served = [{ name: "v1alpha1", served: true, storage: false }];
    const { api } = await more(served, { storedVersions: ["v1beta1"] }, "agent-sandbox-webhook");
    const { code, stderr } = await run(`install --apply ${IMAGE}`, { api });
    expect(code).toBe(1);
    expect(stderr).toContain("which the cluster serves\n");
    expect(stderr).toContain("--force takes over the CRD of the other controller.");
    const live = api.stored.get(SANDBOXES_CRD);
    expect(await run("install --dry-run --force", { api })).toMatchObject({ code: 0, stderr: "" });
    expect(api.stored.get(SANDBOXES_CRD), "a dry run changes nothing").toBe(live);
    expect(await run(`install --apply --force ${IMAGE}`, { api })).toMatchObject({ code: 0, stderr: "" });
    expect(api.stored.get(SANDBOXES_CRD)).toMatchObject({ spec: { conversion: { strategy: "None" } } });
    const stored = await more(served, { storedVersions: ["v1alpha1", "v1beta1"] }, "agent-sandbox-webhook");
    expect((await run(`install --apply --force ${IMAGE}`, stored)).code).toBe(1);
  });

  test("stays as it is with --no-crds, and all else is applied", async () => {
    const { api, live } = await more([{ name: "v1alpha1", served: true, storage: false }]);
    api.requests.length = 0;
    const ran = await run("install --apply --no-crds --image r/h:2", { api });
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    expect(api.stored.get(SANDBOXES_CRD)).toBe(live);
    expect(written(api).filter((path) => path.includes("customresourcedefinitions"))).toEqual([]);
    expect(written(api).filter((path) => /controllers\/|\/deployments\//.test(path))).toHaveLength(11);
    expect((await run("install --no-crds")).stdout).not.toMatch(/^kind: CustomResourceDefinition$/m);
  });

  test("is applied once nobody is served or stored by them", async () => {
    const { api } = await more([{ name: "v1alpha1", served: false, storage: false }], { storedVersions: ["v1beta1"] });
    expect(await run("install --apply --force", { api })).toMatchObject({ code: 0, stderr: "" });
  });
});
