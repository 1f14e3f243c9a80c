/** Looks at the API server for what a watch may not have seen yet: how many, and for whom. @module */
import { expect, test } from "vitest";
import { createLookup, getSandbox, listPods } from "../../../packages/router/index/sandboxapi.ts";
import { readPod, readSandbox } from "../../../packages/router/index/records.ts";
import { createSandboxIndex } from "../../../packages/router/index/sandboxindex.ts";
import { createFakeApi } from "../../kube/fakeapi.ts";

/** Makes a look by a clock that stands; `asked` are the paths that the API server is asked for. */
function stage() {
  const clock = { now: 1_000_000 };
  const asked: string[] = [];
  const api = createFakeApi();
  api.intercept = ({ path }) => {
    asked.push(path);
    return Promise.resolve({ status: 404, body: {} });
  };
  const shown = { api, index: createSandboxIndex() };
  const look = createLookup((ref) => getSandbox(shown, ref), () => {}, () => clock.now);
  return { clock, asked, look };
}

test("names that do not exist are looked at 50 a second, and each once a second", async () => {
  const { clock, asked, look } = stage();
  for (let i = 0; i < 100; i++) await look(`team-${i % 4}`, `none-${i}`);
  expect(asked.length).toBe(50);
  clock.now += 1000;
  await look("team-a", "demo");
  await look("team-a", "demo");
  expect(asked.length).toBe(51);
});

test("one namespace's names leave looks for the others", async () => {
  const { clock, asked, look } = stage();
  for (let second = 0; second < 5; second++) {
    for (let i = 0; i < 1000; i++) await look("team-a", `none-${second}-${i}`);
    await look("team-b", `new-${second}`);
    expect(asked.at(-1)).toMatch(new RegExp(`namespaces/team-b/sandboxes/new-${second}$`));
    clock.now += 1000;
  }
});

const OWNER = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name: "a", uid: "u1", controller: true };
const aPod = (version: number, ready: "True" | "False") => ({
  ...{ apiVersion: "v1", kind: "Pod" },
  metadata: { name: "a", namespace: "n", uid: "p1", resourceVersion: String(version), ownerReferences: [OWNER] },
  status: { podIPs: [{ ip: "10.0.0.1" }], conditions: [{ type: "Ready", status: ready }] },
});

test.for(
  [
    ["a Pod that is gone by then does not come back", "gone", []],
    ["a Pod stays as the watch has shown it since", "changed", [false]],
    ["a Pod that is new to the watch is known", "nothing", [true]],
  ] as const,
)("a list of Pods that comes late: %s", async ([, meanwhile, want]) => {
  const api = createFakeApi();
  const index = createSandboxIndex();
  index.sandboxes.observe(readSandbox({ metadata: { name: "a", namespace: "n", uid: "u1" }, spec: {} })!);
  if (meanwhile !== "nothing") index.pods.observe(readPod(aPod(1, "True"), false)!);
  api.intercept = () => {
    // The API server has made its answer; the watch is faster.
    if (meanwhile === "gone") index.pods.gone("p1");
    if (meanwhile === "changed") index.pods.observe(readPod(aPod(2, "False"), false)!);
    return Promise.resolve({ status: 200, body: { items: [aPod(1, "True")] } });
  };
  await listPods({ api, index }, { namespace: "n", name: "a" }, false);
  expect([...index.find("n", "a")?.pods.values() ?? []].map(({ isReady }) => isReady)).toEqual(want);
});
