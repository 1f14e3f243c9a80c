/** `hookbox convert`: files of v1alpha1, those of early documents too, as v1beta1. @module */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { describe, expect, test } from "vitest";
import { makeTempFolder } from "../tempfolder.ts";
import { run } from "./fakecontext.ts";

const POD = "{ spec: { containers: [{ name: main, image: busybox }] } }";
const SANDBOX = `
apiVersion: agents.x-k8s.io/v1alpha1
kind: Sandbox
metadata: { name: my-sandbox }
spec: { podTemplate: ${POD}, replicas: 0 }
`;
const extension = (kind: string, name: string, spec: string) => `
apiVersion: extensions.agents.x-k8s.io/v1alpha1
kind: ${kind}
metadata: { name: ${name}, namespace: team-a }
spec: ${spec}
`;
const CLAIM = extension("SandboxClaim", "job", "{ sandboxTemplateRef: { name: python } }");
const objects = (text: string) => parseAllDocuments(text).map((document) => document.toJS());
const convert = (input: string, ...args: string[]) => run(["convert", "-f", "-", ...args], { input });

test("prints objects of v1alpha1 as v1beta1, and others as they are", async () => {
  const { code, stdout, stderr } = await convert(
    `${SANDBOX}---\napiVersion: v1\nkind: Secret\nmetadata: { name: s }\n`,
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(objects(stdout)).toEqual([
    {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: { name: "my-sandbox" },
      spec: {
        service: true,
        podTemplate: { spec: { containers: [{ name: "main", image: "busybox" }] } },
        operatingMode: "Suspended",
      },
    },
    { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } },
  ]);
});

test("reads files and lists, and prints JSON where asked", async () => {
  const folder = makeTempFolder();
  const list = { apiVersion: "v1", kind: "List", items: objects(SANDBOX) };
  writeFileSync(join(folder, "old.json"), JSON.stringify(list));
  writeFileSync(join(folder, "old.yaml"), SANDBOX);
  const files = ["-f", join(folder, "old.json"), "-f", join(folder, "old.yaml")];
  const { stdout } = await run(["convert", ...files, "-o", "json"]);
  expect(JSON.parse(stdout)).toMatchObject({ kind: "List", items: [{ spec: { service: true } }, { kind: "Sandbox" }] });
});

describe("a claim that takes any pool of its template", () => {
  const claims = (text: string) => objects(text).filter(({ kind }) => kind === "SandboxClaim");
  const refs = (text: string) => claims(text).map(({ spec }) => spec.warmPoolRef.name);

  test("is given the pool of that template in the files", async () => {
    const pool = extension("SandboxWarmPool", "fast", "{ replicas: 3, sandboxTemplateRef: { name: python } }");
    const { stdout, stderr } = await convert(`${CLAIM}---${pool}`);
    expect(refs(stdout)).toEqual(["fast"]);
    expect([objects(stdout).length, stderr]).toEqual([2, ""]);
  });

  test("is else given one without members, which is printed once and before it", async () => {
    const second = CLAIM.replace("name: job", "name: second");
    const { stdout, stderr } = await convert(`${CLAIM}---${second}`);
    expect(objects(stdout).map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`)).toEqual([
      "SandboxWarmPool team-a/shadow-pool-python",
      "SandboxClaim team-a/job",
      "SandboxClaim team-a/second",
    ]);
    expect(objects(stdout)[0].spec).toEqual({ replicas: 0, sandboxTemplateRef: { name: "python" } });
    expect(refs(stdout)).toEqual(["shadow-pool-python", "shadow-pool-python"]);
    expect(stderr).toContain("SandboxClaim job names a template instead of a pool");
  });

  test("wants none: it is not given one with members", async () => {
    const pool = extension("SandboxWarmPool", "fast", "{ replicas: 3, sandboxTemplateRef: { name: python } }");
    const none = extension("SandboxClaim", "job", "{ sandboxTemplateRef: { name: python }, warmpool: none }");
    expect(refs((await convert(`${none}---${pool}`)).stdout)).toEqual(["shadow-pool-python"]);
  });
});

test("what early documents write is put into its place", async () => {
  const early = ["SandboxTemplate", "SandboxClaim", "SandboxWarmPool"].map((kind, index) => `
apiVersion: agents.x-k8s.io/v1alpha1
kind: ${kind}
metadata: { name: python-agent }
spec: ${[`{ template: ${POD} }`, "{ template: python-agent }", "{ size: 3, template: python-agent }"][index]}
`).join("---");
  const { stdout } = await convert(early);
  expect(objects(stdout).map(({ apiVersion, kind, spec }) => ({ apiVersion, kind, spec }))).toEqual([
    { kind: "SandboxTemplate", spec: { podTemplate: { spec: { containers: [{ name: "main", image: "busybox" }] } } } },
    { kind: "SandboxClaim", spec: { warmPoolRef: { name: "python-agent" } } },
    { kind: "SandboxWarmPool", spec: { replicas: 3, sandboxTemplateRef: { name: "python-agent" } } },
  ].map((object) => ({ apiVersion: "extensions.agents.x-k8s.io/v1beta1", ...object })));
});

test.for([
  { name: "no file", args: [], code: 2, says: "no file is named. Use -f FILE" },
  { name: "a file that is not there", args: ["-f", "/nowhere.yaml"], code: 1, says: "Cannot read /nowhere.yaml" },
  { name: "a format that there is not", args: ["-f", "-", "-o", "wide"], code: 2, says: "-o takes json, yaml" },
  { name: "broken YAML", args: ["-f", "-"], input: "a: [", code: 1, says: "Cannot read standard input" },
  { name: "what is no object", args: ["-f", "-"], input: "a: b", code: 1, says: "no apiVersion or kind" },
  {
    name: "an object without a name",
    args: ["-f", "-"],
    input: SANDBOX.replace("name: my-sandbox", ""),
    code: 1,
    says: "a Sandbox has no metadata.name",
  },
  {
    name: "a kind that there is not",
    args: ["-f", "-"],
    input: SANDBOX.replace("kind: Sandbox", "kind: Sandpit"),
    code: 1,
    says: "Cannot convert Sandpit",
  },
])("$name: an error that says so", async ({ args, input = "", code, says }) => {
  const ran = await run(["convert", ...args], { input });
  expect(ran.code).toBe(code);
  expect(ran.stderr).toContain(says);
  expect(ran.stdout).toBe("");
});
