/** The parsers take what the CRDs take, refuse what they refuse, and fill in the same defaults. @module */
import { expect, test } from "vitest";
import * as z from "zod";
import { buildCRD, kinds } from "../../dev/crdgen/crd.ts";
import { readDefinitions } from "../../dev/crdgen/openapi.ts";
import { type RefusedSample, refusedSpecs, refusedStatuses } from "./refused.ts";
import { accepted, type Sample } from "./samples.ts";

const { definitions } = readDefinitions();

interface Checkers {
  parser: z.ZodType;
  /** What zod makes of the generated CRD's schema. */
  crd: z.ZodType;
}

const checkers = new Map<string, Checkers>(kinds.map((kind) => {
  const schema = buildCRD(kind, definitions).spec.versions[0]?.schema.openAPIV3Schema;
  const crd = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0], { defaultTarget: "openapi-3.0" });
  return [kind.resource.kind, { parser: kind.schema, crd }];
}));

function checkersOf({ object }: Sample): Checkers {
  const found = checkers.get(object.kind);
  if (!found) throw new RangeError(`Cannot check ${object.kind}: it is not a kind of ours`);
  return found;
}

/** Writes a path as the API server does: `spec.env[0].value`. */
function fieldOf(path: readonly PropertyKey[]): string {
  return path.map((key) => typeof key === "number" ? `[${key}]` : `.${String(key)}`).join("").replace(/^\./, "");
}

function fieldsRefused(schema: z.ZodType, object: unknown): string[] {
  return schema.safeParse(object).error?.issues.map((issue) => fieldOf(issue.path)) ?? [];
}

test.for(accepted)("accepted: $name", (sample) => {
  const { parser, crd } = checkersOf(sample);
  const parsed = parser.parse(sample.object) as object;
  // Presetting a status is the API server's part: a parser that did it would hide that nobody has.
  const preset = sample.object.kind === "Sandbox" ? { status: { observedGeneration: 1 } } : {};
  expect({ ...preset, ...parsed }).toEqual(crd.parse(sample.object));
  expect(parsed).toMatchObject(sample.object);
  expect(parser.parse(parsed), "a second pass changes nothing").toEqual(parsed);
});

const refused: RefusedSample[] = [...refusedSpecs, ...refusedStatuses];

test.for(refused)("refused: $name", (sample) => {
  const { parser, crd } = checkersOf(sample);
  for (const schema of [parser, crd]) {
    expect(fieldsRefused(schema, sample.object).join()).toContain(sample.field);
  }
});

test.for(kinds)("$resource.kind keeps keys that a newer CRD may have", ({ resource, schema }) => {
  const sample = accepted.find(({ object }) => object.kind === resource.kind);
  const object = { ...sample?.object, later: { added: true } };
  expect(schema.parse(object)).toMatchObject({ later: { added: true } });
});

test.for(kinds)("$resource.kind refuses another kind's object", ({ resource, schema }) => {
  const sample = accepted.find(({ object }) => object.kind === resource.kind);
  expect(fieldsRefused(schema, { ...sample?.object, kind: "Pod", apiVersion: "v1" })).toEqual(["apiVersion", "kind"]);
});
