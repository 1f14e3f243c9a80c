/** Options for what a sandbox gets while it runs: values of Secrets, a start command, CPU and memory. @module */
import { expect, test } from "vitest";
import { lateContents } from "../../../packages/api/claims/latebinding.ts";
import type { ObjectMeta } from "../../../packages/api/objects/objects.ts";
import { checkOptions, claimBody, sandboxBody } from "../../../packages/sdk/control/bodies.ts";
import type { CreateOptions } from "../../../packages/sdk/options.ts";

const CREATION = { name: "c", now: new Date(0), begin: new Date(0), trace: {} };
const bodyOf = (options: Omit<CreateOptions, "timeoutMs">) =>
  claimBody(options, "p", CREATION) as { metadata: ObjectMeta };

test("a claim names the Secrets of variables and files, and the start command", () => {
  const options = {
    pool: "p",
    secrets: { API_KEY: "keys/api", B: "keys/b" },
    secretFiles: { "~/.netrc": "keys/netrc" },
    startCommand: 'echo "a,b=c"',
  };
  checkOptions(options, false);
  expect(lateContents(bodyOf(options))).toEqual({
    env: [{ name: "API_KEY", secret: "keys", key: "api" }, { name: "B", secret: "keys", key: "b" }],
    files: [{ name: "~/.netrc", secret: "keys", key: "netrc" }],
    start: 'echo "a,b=c"',
  });
  const none = bodyOf({ pool: "p", secrets: {}, secretFiles: {} });
  expect(Object.keys(none.metadata.annotations ?? {}).join()).not.toMatch(/secret|start/);
});

test("a claim asks for CPU and memory, and a Sandbox from an image has them", () => {
  const resources = { cpu: "500m", memory: "1Gi" };
  checkOptions({ pool: "p", resources }, false);
  const { metadata } = bodyOf({ pool: "p", resources });
  expect(metadata.annotations?.["agents.x-k8s.io/resources"]).toBe("cpu=500m,memory=1Gi");
  expect(Object.keys(bodyOf({ pool: "p", resources: {} }).metadata.annotations ?? {}).join()).not.toMatch(/resources/);
  expect(sandboxBody({ image: "box", resources: { cpu: "2" } }, CREATION)).toMatchObject({
    spec: { podTemplate: { spec: { containers: [{ resources: { requests: { cpu: "2" }, limits: { cpu: "2" } } }] } } },
  });
});

test.for<[string, CreateOptions, string]>([
  [
    "an amount that is no amount",
    { resources: { cpu: "2 cores" } },
    'cpu "2 cores" is not an amount like "2", "0.5" or',
  ],
  ["no amount of memory", { resources: { memory: "lots" } }, 'memory "lots" is not an amount like "4Gi"'],
  [
    "an amount with a second entry in it",
    { resources: { cpu: "1,memory=1Gi" } },
    'cpu "1,memory=1Gi" is not an amount',
  ],
  ["the annotation of resources too", {
    resources: { cpu: "1" },
    metadata: { "agents.x-k8s.io/resources": "cpu=1" },
  }, "sets agents.x"],
  ["a value that names no key", { secrets: { A: "keys" } }, '"A=keys" is not NAME=secret/key'],
  ["a name with a second entry in it", { secretFiles: { "a=x/y,b": "keys/b" } }, "has a comma or an equals sign"],
  ["a value with a second entry in it", { secrets: { A: "keys/a,B=x/y" } }, "has a comma or an equals sign"],
  ["a folder", { secretFiles: { "a/": "keys/a" } }, '"a/" is a folder'],
  ["an empty command", { startCommand: "" }, "start-command is empty"],
  ["an image", { pool: undefined, image: "box", startCommand: "true" } as never, "they need a template"],
  ["the annotation too", { startCommand: "a", metadata: { "agents.x-k8s.io/start-command": "b" } }, "sets agents.x"],
])("options with %s are refused", ([, options, words]) => {
  expect(() => checkOptions({ pool: "p", ...options }, false)).toThrow(words);
});
