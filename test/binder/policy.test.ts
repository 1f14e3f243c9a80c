/** The binder's admission policy lists every label, annotation and field that the binder writes, and refuses others. @module */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { buildMember } from "../../hooks/sandboxwarmpool/sandbox.ts";
import { sandboxSchema } from "../../packages/api/sandbox.ts";
import { SHARD_LABEL, TRACE_CONTEXT_ANNOTATION } from "../../packages/api/objects/keys.ts";
import { applyCreate } from "../../packages/api/objects/apply.ts";
import { boundMember, coldSandbox } from "../../packages/binder/boundsandbox.ts";
import { aClaim, aMember, aPool } from "../pools.ts";
import { NOW } from "../sandboxes.ts";
import { aTemplate } from "../templates.ts";

const [policy] = parseAllDocuments(
  readFileSync(new URL("../../deploy/binder/admission.yaml", import.meta.url), "utf8"),
);
const { variables, validations } = policy?.toJS().spec as Record<
  string,
  { expression: string; name?: string; message: string }[]
>;
const listed = (text = "") => [...text.matchAll(/"([^"]+)"/g)].map(([, key]) => key);
const ofMessage = (words: string) => listed(validations?.find(({ message }) => message.includes(words))?.expression);
const ofVariable = (wanted: string) => listed(variables?.find(({ name }) => name === wanted)?.expression);

interface Made {
  metadata: { labels?: object | undefined; annotations?: object | undefined };
  spec?: object | undefined;
}
const keysOf = (
  { metadata }: Made,
) => [...Object.keys(metadata.labels ?? {}), ...Object.keys(metadata.annotations ?? {})];

const pool = aPool({ metadata: { labels: { [SHARD_LABEL]: "a" } } });
const claim = aClaim("c", {
  metadata: { annotations: { [TRACE_CONTEXT_ANNOTATION]: "{}" }, labels: { "agents.x-k8s.io/created-by": "sdk" } },
});
const volumes = { volumeClaimTemplates: [{ metadata: { name: "v" }, spec: {} }], service: true };
const template = aTemplate({ spec: volumes });

test("Sandboxes of claims and pools have no other labels, annotations and fields", () => {
  const made: Made[] = [
    coldSandbox(claim, { pool, template }, NOW),
    applyCreate(buildMember(pool, template, "m", { number: 1, first: 1 })),
  ];
  const keys = ofMessage("create Sandboxes with reserved labels and annotations");
  const fields = ofMessage("create Sandboxes that run");
  for (const object of made) {
    expect(keys).toEqual(expect.arrayContaining(keysOf(object)));
    expect(fields).toEqual(expect.arrayContaining(Object.keys(object.spec ?? {})));
  }
});

test("a binding changes no other labels and annotations", () => {
  const member = aMember(1);
  const given = boundMember(member, claim, template, NOW);
  const [before, after] = [member, given].map(({ metadata }) =>
    ({ ...metadata.labels, ...metadata.annotations }) as Record<string, string>
  );
  const changed = [...new Set([...Object.keys(before!), ...Object.keys(after!)])].filter((key) =>
    before![key] !== after![key]
  );
  expect(changed.length).toBeGreaterThan(3);
  expect([...ofVariable("own"), ...ofVariable("ownLabels")]).toEqual(expect.arrayContaining(changed));
});

test("the router's policy lists each field of a Sandbox that it may change, and leaves out all others", () => {
  const [router] = parseAllDocuments(
    readFileSync(new URL("../../deploy/router/admission.yaml", import.meta.url), "utf8"),
  );
  const { expression } = router?.toJS().spec.validations.find(({ message }: { message: string }) =>
    message.includes("nothing else of the spec")
  );
  const fields = Object.keys(sandboxSchema.shape.spec.shape);
  expect(fields.filter((field) => listed(expression).includes(field)).sort()).toEqual([
    "operatingMode",
    "shutdownPolicy",
    "shutdownTime",
  ]);
});
