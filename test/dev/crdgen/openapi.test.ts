/** Picking definitions out of an API server's OpenAPI, asking for it, and what cannot be embedded. @module */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { pickDefinitions, readDefinitions } from "../../../dev/crdgen/openapi.ts";
import { toOpenAPI, toStructural } from "../../../dev/crdgen/structural.ts";
import { fetchDefinitions, fromServer } from "../../../dev/crdgen/fetch.ts";

const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });

test("pickDefinitions() follows every kind of reference, once, and no leaf", () => {
  const all = {
    Root: {
      type: "object",
      properties: {
        direct: reference("Direct"),
        wrapped: { allOf: [reference("Wrapped")], default: {} },
        listed: { type: "array", items: reference("Listed") },
        mapped: { type: "object", additionalProperties: reference("Mapped") },
        leaf: reference("Leaf"),
      },
    },
    Direct: { type: "object", properties: { self: reference("Direct") } },
    Wrapped: { type: "string" },
    Listed: { type: "string" },
    Mapped: { type: "string" },
    Leaf: { type: "string" },
    Other: { type: "string" },
  };
  const names = Object.keys(pickDefinitions(all, ["Root"], ["Leaf"]));
  expect(names).toEqual(["Direct", "Listed", "Mapped", "Root", "Wrapped"]);
});

test("pickDefinitions() leaves out what a CRD cannot or should not say", () => {
  const all = {
    Root: { type: "string", description: "Long.", enum: ["A"], "x-kubernetes-patch-strategy": "merge" },
    "io.k8s.api.core.v1.AzureDiskVolumeSource": { properties: { kind: { type: "string", default: "Shared" } } },
  };
  expect(pickDefinitions(all, Object.keys(all), [])).toEqual({
    Root: { type: "string" },
    "io.k8s.api.core.v1.AzureDiskVolumeSource": { properties: { kind: { type: "string" } } },
  });
});

test("pickDefinitions() refuses what it does not know", () => {
  const all = { Root: { type: "object", properties: { a: { type: "string", "x-kubernetes-new": true } } } };
  expect(() => pickDefinitions(all, ["Root"], [])).toThrow("Cannot pick Root.a: its key x-kubernetes-new is not known");
  expect(() => pickDefinitions(all, ["Gone"], [])).toThrow("Cannot pick Gone");
});

test("fetchDefinitions() asks one server for its version and its definitions", async () => {
  const schemas = Object.fromEntries(
    Object.keys(readDefinitions().definitions).map((name) => [name, { type: "object", description: "Long." }]),
  );
  const answers: Record<string, unknown> = {
    "/version": { gitVersion: "v1.99.0" },
    "/openapi/v3/api/v1": { components: { schemas } },
    "/openapi/v3/apis/networking.k8s.io/v1": { components: { schemas: {} } },
  };
  const data = await fetchDefinitions((path) => Promise.resolve(answers[path]));
  expect(data.kubernetes).toBe("v1.99.0");
  expect(Object.keys(data.definitions)).toEqual([
    "io.k8s.api.core.v1.PersistentVolumeClaimSpec",
    "io.k8s.api.core.v1.PodSpec",
    "io.k8s.api.networking.v1.NetworkPolicyEgressRule",
    "io.k8s.api.networking.v1.NetworkPolicyIngressRule",
  ]);
});

test("fromServer() gets by path, and names the path that is refused", async () => {
  const server = createServer((asked, answer) => {
    answer.statusCode = asked.url === "/version" ? 200 : 403;
    answer.end(JSON.stringify({ gitVersion: "v1.99.0" }));
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const getJSON = fromServer(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  expect(await getJSON("/version")).toEqual({ gitVersion: "v1.99.0" });
  await expect(getJSON("/openapi/v3")).rejects.toThrow("Cannot get /openapi/v3: the API server answered 403");
});

test("toStructural() refuses a definition that is missing and a field without a type", () => {
  expect(() => toStructural({ $ref: "#/x/Gone" }, {})).toThrow("Cannot embed Gone");
  expect(() => toStructural(toOpenAPI(z.union([z.string(), z.number()])), {})).toThrow("it has no type");
});
