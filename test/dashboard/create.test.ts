/** What the dialog for a new sandbox offers, and how it reads variables. @module */
import { expect, test } from "vitest";
import { sourcesOf, variablesOf } from "../../packages/dashboard/create.tsx";
import type { SandboxTemplate } from "../../packages/api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../../packages/api/sandboxwarmpool.ts";

const pool = (name: string, template: string, readyReplicas: number, more = {}) =>
  ({
    metadata: { name, ...more },
    spec: { sandboxTemplateRef: { name: template } },
    status: { readyReplicas },
  }) as SandboxWarmPool;
const template = (name: string) => ({ metadata: { name } }) as SandboxTemplate;

test("sourcesOf() lists the fullest pool first, and templates that no pool uses", () => {
  const templates = [template("py"), template("node")];
  const pools = [pool("a", "py", 1), pool("b", "py", 4), pool("c", "gone", 0)];
  expect(sourcesOf(pools, templates)).toEqual([
    { key: "pool/b", text: "b (4 ready, template py)", template: templates[0] },
    { key: "pool/a", text: "a (1 ready, template py)", template: templates[0] },
    { key: "pool/c", text: "c (0 ready, template gone)", template: undefined },
    { key: "template/node", text: "node (template without a pool: starts cold)", template: templates[1] },
  ]);
});

test("sourcesOf() leaves out pools that are being deleted", () => {
  const leaving = pool("a", "py", 1, { deletionTimestamp: "2026-01-01T00:00:00Z" });
  expect(sourcesOf([leaving], [template("py")]).map(({ key }) => key)).toEqual(["template/py"]);
});

test("variablesOf() reads a line each, with the first = as the separator", () => {
  expect(variablesOf("A=1\n\n  B=x=y z \nC=\n")).toEqual({ A: "1", B: "x=y z ", C: "" });
  expect(variablesOf("")).toEqual({});
  expect(() => variablesOf("A=1\nno value")).toThrow('the line "no value"');
});
