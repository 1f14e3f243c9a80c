/**
 * Runs golden cases: `<case>.in.yaml` is a request in short form, `<case>.out.yaml` the whole answer. `vitest -u` writes
 * the latter, by hand only. @module
 */
import { readdirSync, readFileSync } from "node:fs";
import { parse, stringify } from "yaml";
import { expect, test } from "vitest";
import { kindKey, type ObjectMap } from "../packages/webhook/metacontroller.ts";
import type { KubeObject } from "../packages/api/objects/objects.ts";
import { aChild } from "./sandboxes.ts";

/** One golden input: the request in full, what else the case says, and the file of the answer. */
export interface GoldenCase {
  name: string;
  request: GoldenRequest;
  /** Everything except `parent`, `children` and `related`. */
  more: Record<string, unknown>;
  out: string;
}

/** A composite hook's request. A decorator's is the same under other names: see {@link asDecoratorRequest}. */
export interface GoldenRequest {
  parent: KubeObject;
  children: ObjectMap;
  related: ObjectMap;
  finalizing: boolean;
}

// deno-lint-ignore no-explicit-any -- YAML: each form reads its own words
type Short = any;

/** How the cases of one hook are abbreviated. */
export interface GoldenForm {
  parent(short: Short): object;
  /** Makes a child or a related object. */
  object(short: Short): KubeObject;
  /** Keys that are there even if empty: the controller's child rules, and its customize rules. */
  children: string[];
  related: string[];
}

/** The Sandbox hook's: a running Sandbox `demo` of `team-a`; of a child `lastApplied` becomes the annotation of that name. */
const SANDBOX: GoldenForm = {
  parent: ({ metadata, spec, ...rest }) => ({
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    ...rest,
    metadata: { name: "demo", namespace: "team-a", uid: "uid-demo", generation: 1, ...metadata },
    spec: { operatingMode: "Running", shutdownPolicy: "Retain", ...spec },
  }),
  object: ({ kind, ...rest }) => aChild(kind, rest),
  children: ["Pod.v1", "Service.v1", "PersistentVolumeClaim.v1"],
  related: [],
};

/** Reads the cases of a folder. In short, `children` and `related` are lists. */
export function goldenCases(directory: URL, form: GoldenForm = SANDBOX): GoldenCase[] {
  return readdirSync(directory).filter((file) => file.endsWith(".in.yaml")).sort().map((file) => {
    const text = readFileSync(new URL(file, directory), "utf8");
    const { parent = {}, children = [], related = [], ...more } = parse(text, { merge: true });
    return {
      name: file.replace(".in.yaml", ""),
      request: {
        parent: form.parent(parent) as KubeObject,
        children: grouped(form.children, children.map(form.object)),
        related: grouped(form.related, related.map(form.object)),
        finalizing: false,
      },
      more,
      out: new URL(file.replace(".in.", ".out."), directory).pathname,
    };
  });
}

/** Compares the answer to every case with its file. */
export function goldenTests(
  cases: GoldenCase[],
  answer: (request: GoldenRequest, golden: GoldenCase) => unknown,
): void {
  test.for(cases)("golden: $name", async (golden) => {
    const text = stringify(answer(golden.request, golden), { aliasDuplicateObjects: false, lineWidth: 0 });
    await expect(text).toMatchFileSnapshot(golden.out);
  });
}

/** Returns the request as a DecoratorController sends it. */
export function asDecoratorRequest({ parent: object, children: attachments, related, finalizing }: GoldenRequest) {
  return { controller: {}, object, attachments, related, finalizing };
}

/** Turns the order of all keys round: what a map's order must not decide. */
export function reversed<T>(value: T): T {
  if (Array.isArray(value)) return value.map(reversed) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).reverse().map(([key, field]) => [key, reversed(field)])) as T;
}

/** Groups objects as Metacontroller's `version: v2` does. */
function grouped(keys: string[], objects: KubeObject[]): ObjectMap {
  const map: ObjectMap = Object.fromEntries(keys.map((key) => [key, {}]));
  for (const object of objects) {
    (map[kindKey(object)] ??= {})[`${object.metadata.namespace}/${object.metadata.name}`] = object;
  }
  return map;
}
