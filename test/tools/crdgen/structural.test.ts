/** What becomes of the API server's schemas, and of zod's, in a CRD. @module */
import { expect, test } from "vitest";
import * as z from "zod";
import { DEFINITION } from "../../../api/blueprint.ts";
import { embeddedIn, toOpenAPI, toStructural } from "../../../tools/crdgen/structural.ts";

const text = { type: "string" };
const zero = { type: "string", default: "" };

test("toStructural() drops the zero default of a required field, an item and a map value", () => {
  const schema = {
    type: "object",
    required: ["name"],
    properties: {
      name: zero,
      args: { type: "array", items: zero },
      labels: { type: "object", additionalProperties: zero },
      ref: { allOf: [{ $ref: "#/components/schemas/Ref" }], default: {} },
    },
  };
  expect(toStructural(schema, { Ref: { type: "object", properties: { name: zero } } })).toEqual({
    type: "object",
    required: ["name"],
    properties: {
      name: text,
      args: { type: "array", items: text },
      labels: { type: "object", additionalProperties: text },
      ref: { type: "object", properties: { name: zero } },
    },
  });
});

test("toStructural() keeps a default that the API server applies, and the keys of a list", () => {
  const ports = {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["port", "protocol"],
    items: {
      type: "object",
      required: ["port"],
      properties: {
        port: { type: "integer", format: "int32", default: 0 },
        protocol: { type: "string", default: "TCP" },
      },
    },
  };
  expect(toStructural(ports, {})).toEqual({
    ...ports,
    items: {
      type: "object",
      required: ["port"],
      properties: { port: { type: "integer", format: "int32" }, protocol: { type: "string", default: "TCP" } },
    },
  });
});

test("toStructural() lets a field be a number or a string where Kubernetes does", () => {
  const either = { anyOf: [{ type: "integer" }, text], "x-kubernetes-int-or-string": true };
  expect(toStructural({ $ref: "#/x/io.k8s.apimachinery.pkg.util.intstr.IntOrString" }, {})).toEqual(either);
  const quantity = toStructural({ $ref: "#/x/io.k8s.apimachinery.pkg.api.resource.Quantity" }, {});
  expect(quantity).toMatchObject(either);
  const pattern = new RegExp(quantity["pattern"] as string);
  expect(["1", "0.5", "100m", "1Gi", "1e3", "+.5E-2"].filter((value) => !pattern.test(value))).toEqual([]);
  expect(["", "1 Gi", "1X", "Gi", "1GiB"].filter((value) => pattern.test(value))).toEqual([]);
});

test("toStructural() puts a definition in place of what only the parser checks, under the field's own description", () => {
  const schema = toOpenAPI(z.object({
    spec: z.looseObject({ name: z.string() }).meta({ description: "A thing.", [DEFINITION]: "Thing" }),
  }));
  expect(embeddedIn(schema)).toEqual(["Thing"]);
  expect(toStructural(schema, { Thing: { type: "object", properties: { size: text } } })).toMatchObject({
    properties: { spec: { description: "A thing.", type: "object", properties: { size: text } } },
  });
});

test("toStructural() says of zod's schemas only what was asked for", () => {
  const schema = z.looseObject({
    count: z.int().min(0),
    mode: z.enum(["On", "Off"]).default("On"),
    path: z.string().regex(/^a\/b$/).optional(),
  });
  expect(toStructural(toOpenAPI(schema), {})).toEqual({
    type: "object",
    required: ["count"],
    properties: {
      count: { type: "integer", minimum: 0 },
      mode: { type: "string", enum: ["On", "Off"], default: "On" },
      path: { type: "string", pattern: "^a/b$" },
    },
  });
});

test("toStructural() refuses a definition that is missing and a field without a type", () => {
  expect(() => toStructural({ $ref: "#/x/Gone" }, {})).toThrow("Cannot embed Gone");
  expect(() => toStructural(toOpenAPI(z.union([z.string(), z.number()])), {})).toThrow("it has no type");
});
