/** Looks at the API server for what a watch may not have seen yet: how many, and for whom. @module */
import { expect, test } from "vitest";
import { createLook, getSandbox } from "../../../packages/router/index/sandboxapi.ts";
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
  const look = createLook((ref) => getSandbox(shown, ref), () => {}, () => clock.now);
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
