/** What `hookbox doctor` says is to be done about an installation that lacks something. @module */
import { expect, test } from "vitest";
import { listOf } from "./fakecontext.ts";
import { examine, METACONTROLLER, sound } from "./soundcluster.ts";

const CRD = "GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions/sandboxes.agents.x-k8s.io";
const INSTALL = "hookbox install --apply --image REGISTRY/hookbox:TAG";
const keepers = (...namespaces: string[]) => ({
  "GET /apis/apps/v1/deployments": listOf(
    "apps/v1",
    "Deployment",
    ...namespaces.map((namespace) => ({ metadata: { namespace, name: "hookbox-keeper" } })),
  ),
});

test.for([
  { where: {}, flags: "" },
  { where: keepers(), flags: "" },
  { where: keepers("hookbox-system"), flags: "" },
  { where: keepers("mine"), flags: " --system-namespace mine" },
  { where: keepers("mine", "yours"), flags: "" },
])("remedies name an image, and the namespace if it is another ($flags)", async ({ where, flags }) => {
  const missing = await examine({
    ...sound(),
    ...where,
    [CRD]: undefined,
    [`GET ${METACONTROLLER}/compositecontrollers/sandbox`]: undefined,
  });
  expect(missing.stdout).toContain(`→ Install them: ${INSTALL}${flags}\n`);
  expect(missing.stdout).toContain(`→ Register them: ${INSTALL}${flags}\n`);
  const stale = await examine({ ...sound(), ...where, [CRD]: outdated() });
  expect(stale.stdout).toContain(`→ Update it: ${INSTALL}${flags}\n`);
  const hidden = await examine({ ...sound(), ...where, [CRD]: { status: 403, body: { message: "forbidden" } } });
  expect(hidden.stdout).toContain(`not served\n${" ".repeat(27)}→ Install them: ${INSTALL}${flags}\n`);
});

test("where v1alpha1 is served, too, its CRDs are what is to be brought up to date", async () => {
  const old = outdated();
  old.spec.versions.push({ name: "v1alpha1", served: true, storage: false, schema: {} });
  const { stdout } = await examine({ ...sound(), [CRD]: old });
  expect(stdout).toContain(
    "→ Update it: apply deploy/v1alpha1, or set v1alpha1.enabled of the chart, of this version\n",
  );
});

test.for([
  { minor: "29", code: 1 },
  { minor: "30", code: 0 },
])("Kubernetes 1.$minor: code $code", async ({ minor, code }) => {
  const ran = await examine({ ...sound(), "GET /version": { gitVersion: `v1.${minor}.0`, minor } });
  expect(ran.code).toBe(code);
});

interface StoredCRD {
  spec: { versions: { name: string; served: boolean; storage: boolean; schema: object }[] };
}

function outdated(): StoredCRD {
  const crd = structuredClone(sound()[CRD]) as StoredCRD;
  for (const version of crd.spec.versions) version.schema = { openAPIV3Schema: { type: "object" } };
  return crd;
}
