/** What `hookbox doctor` says of the caller's rights: what must be, and what one may do without. @module */
import { readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";
import { expect, test } from "vitest";
import type { Api } from "../../packages/kube/api.ts";
import { fakeApi, run } from "./fakecontext.ts";
import { fetch, sound } from "./soundcluster.ts";

interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
}
interface Attributes {
  group: string;
  resource: string;
  subresource?: string;
  verb: string;
}

/** The Role of docs/howto/teams.md. */
function claimUser(): Rule[] {
  const page = readFileSync(new URL("../../docs/howto/teams.md", import.meta.url), "utf8");
  const [, yaml = ""] = /```yaml team\.yaml\n([^]*?)```/.exec(page) ?? [];
  const objects = parseAllDocuments(yaml).map((one) => one.toJS() as { kind: string; rules?: Rule[] });
  return objects.find(({ kind }) => kind === "Role")?.rules ?? [];
}

/** Asks doctor as somebody with these rules. */
async function examined(rules: Rule[], line = "doctor --router http://r") {
  const api = fakeApi(sound());
  const send: Api["send"] = (request) => {
    const { spec } = (request.body ?? {}) as { spec?: { resourceAttributes?: Attributes } };
    if (!spec?.resourceAttributes) return api.send(request);
    const { group, resource, subresource, verb } = spec.resourceAttributes;
    const name = subresource === undefined ? resource : `${resource}/${subresource}`;
    const allowed = rules.some(({ apiGroups, resources, verbs }) =>
      apiGroups.includes(group) && resources.includes(name) && verbs.includes(verb)
    );
    return Promise.resolve({ status: 201, body: { status: { allowed } } });
  };
  const { code, stdout } = await run(line, { api: { ...api, send }, fetch });
  return { code, rights: stdout.split("\n").filter((text) => text.includes(" Your rights ")) };
}

const without = (rules: Rule[], resource: string, verb: string) =>
  rules.map((rule) =>
    rule.resources.includes(resource) ? { ...rule, verbs: rule.verbs.filter((v) => v !== verb) } : rule
  );
const forward: Rule = { apiGroups: [""], resources: ["pods/portforward"], verbs: ["create", "get"] };

test.for(["doctor --router http://r", "doctor"])("%s: the user of claims lacks nothing that must be", async (line) => {
  const { code, rights } = await examined(claimUser(), line);
  expect(code).toBe(0);
  expect(rights).toHaveLength(1);
  expect(rights[0]).toMatch(/^! Your rights +enough for claims in namespace default, not enough for /);
  for (const use of ["suspend and resume (patch sandboxes)", "create --image (create sandboxes, delete sandboxes)"]) {
    expect(rights[0]).toContain(use);
  }
  expect(rights[0]).toContain("create --template if the template has no pool (create sandboxwarmpools)");
  expect(rights[0]?.includes("exec, cp and url without a router (create pods/portforward")).toBe(line === "doctor");
});

test.for(
  [
    ["sandboxclaims", "create"],
    ["sandboxclaims", "delete"],
    ["sandboxclaims", "watch"],
    ["sandboxes", "get"],
    ["sandboxes", "list"],
    ["sandboxes", "watch"],
  ] as const,
)("%s without %s does not work", async ([resource, verb]) => {
  const { code, rights } = await examined(without(claimUser(), resource, verb));
  expect(code).toBe(1);
  expect(rights[0]).toMatch(new RegExp(`^✗ Your rights +in namespace default you may not ${verb} ${resource}$`));
  expect(rights[1]).toMatch(/^! Your rights +not enough for /);
});

test("somebody has to get into sandboxes: by the router, or by port-forwards", async () => {
  const rules = without(claimUser(), "sandboxes", "connect");
  const nowhere = await examined(rules, "doctor");
  expect(nowhere.code).toBe(1);
  expect(nowhere.rights[0]).toMatch(/you may not create pods\/portforward, get pods\/portforward$/);
  expect(await examined([...rules, forward], "doctor")).toMatchObject({ code: 0 });
  expect(await examined(rules)).toMatchObject({ code: 0 });
});
