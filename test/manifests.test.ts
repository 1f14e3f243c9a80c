/** The controllers' YAML and the code agree, and `npm run manifests` says what is in the files. @module */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { syncSandbox } from "../hooks/sandbox/sync.ts";
import { renderManifests } from "../tools/manifests/render.ts";
import { hookNames } from "../tools/serve/hooks.ts";
import { aRequest, aSandbox, NOW } from "./sandboxes.ts";

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const files = (folder: string) =>
  readdirSync(new URL(`../${folder}/`, import.meta.url)).filter((file) => file.endsWith(".yaml")).sort();
const controller = (name: string) => parse(read(`compositecontrollers/${name}.yaml`));

test("every hook has a controller of its name, and every controller a hook", () => {
  const controllers = ["compositecontrollers", "decoratorcontrollers"].flatMap(files);
  expect(controllers.map((file) => file.replace(".yaml", "")).sort()).toEqual(hookNames);
});

test("every kind that the Sandbox hook builds has a child rule, and volumes are never changed", () => {
  const rules = controller("sandbox").spec.childResources;
  const byResource = Object.fromEntries(
    rules.map((rule: { apiVersion: string; resource: string; updateStrategy: { method: string } }) => [
      `${rule.apiVersion}/${rule.resource}`,
      rule.updateStrategy.method,
    ]),
  );
  expect(byResource).toEqual({
    "v1/persistentvolumeclaims": "OnDelete",
    "v1/pods": "InPlace",
    "v1/services": "InPlace",
  });
  const sandbox = aSandbox({ spec: { service: true, volumeClaimTemplates: [{ metadata: { name: "d" }, spec: {} }] } });
  const { children } = syncSandbox(aRequest(sandbox), NOW, { clusterDomain: "cluster.local" });
  const resources = children.map(({ apiVersion, kind }) => `${apiVersion}/${kind.toLowerCase()}s`);
  expect(Object.keys(byResource)).toEqual(expect.arrayContaining(resources));
});

test("every controller speaks version v2, generates selectors, and is not woken by its own status writes", () => {
  for (const file of files("compositecontrollers")) {
    const { spec } = controller(file.replace(".yaml", ""));
    expect(spec.generateSelector).toBe(true);
    expect(spec.parentResource.ignoreStatusChanges).toBe(true);
    expect(spec.hooks.sync.version).toBe("v2");
  }
});

test("renderManifests() gives CRDs first, then controllers that call <URL>/<hook>/sync", () => {
  const documents = parseAllDocuments(renderManifests("http://127.0.0.1:9000/")).map((document) => document.toJS());
  const kinds = documents.map(({ kind }) => kind);
  expect(kinds.lastIndexOf("CustomResourceDefinition")).toBeLessThan(kinds.indexOf("CompositeController"));
  expect(kinds.filter((kind) => kind === "CustomResourceDefinition")).toHaveLength(files("crds").length);
  const [sandbox] = documents.filter(({ kind, metadata }) =>
    kind === "CompositeController" && metadata.name === "sandbox"
  );
  expect(sandbox.spec.hooks.sync.webhook.url).toBe("http://127.0.0.1:9000/sandbox/sync");
  expect(sandbox.spec.childResources).toEqual(controller("sandbox").spec.childResources);
});

test("renderManifests() without a URL keeps the files' own; a URL that is none is refused", () => {
  expect(renderManifests(undefined)).toContain(controller("sandbox").spec.hooks.sync.webhook.url);
  expect(() => renderManifests("localhost:9000")).toThrow('Cannot use hooks URL "localhost:9000"');
});
