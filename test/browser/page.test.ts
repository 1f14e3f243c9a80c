/** The dashboard in a real browser, on an API server in memory. @module */
import { expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import type { FakeApi } from "../kube/fakeapi.ts";
import { crashedPod, type InMemory, openInMemory, pathOf, putSandbox, runningPod } from "./inmemory.ts";

test("shows three thousand sandboxes, and draws those that are seen", async () => {
  const { page } = await open(3000);
  await page.getByText("3000 of 3000").waitFor();
  const rows = await page.getByRole("row").count();
  expect(rows).toBeGreaterThan(10);
  expect(rows).toBeLessThan(100);
  await page.getByLabel("Filter").fill("many-2999");
  await page.getByRole("row", { name: /many-2999/ }).waitFor();
  await page.getByLabel("Filter").fill("");
  await page.locator(".table").evaluate((element) => element.scrollTop = element.scrollHeight);
  await page.getByRole("row", { name: /many-2999/ }).waitFor();
  await page.getByRole("row", { name: /many-2999/ }).focus();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "many-2998" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("heading", { name: "many-2998" }).waitFor({ state: "detached" });
});

test("a burst of changes ends in the right rows, order and counts", async () => {
  const name = (index: number) => `burst-${String(index).padStart(3, "0")}`;
  const { page, api } = await openInMemory((api) => {
    for (let index = 0; index < 200; index++) putSandbox(api, name(index), { pod: runningPod(), age: 1000 - index });
  }, "#/sandboxes?namespace=team-a&sort=status");
  await page.getByText("200 of 200").waitFor();
  for (let round = 1; round <= 5; round++) {
    for (let index = 0; index < 200; index++) {
      const pod = index % 4 === 0 && round % 2 === 1 ? crashedPod(round, "waiting") : runningPod();
      putSandbox(api, name(index), { pod, age: 1000 - index, metadata: { labels: { round: String(round) } } });
      // The page sees parts of the burst.
      if (index % 50 === 0) await page.evaluate(() => new Promise(requestAnimationFrame));
    }
  }
  for (let index = 0; index < 100; index++) api.remove(pathOf("sandboxes", name(index)));
  await page.getByText("100 of 100").waitFor();
  await page.getByLabel("Filter").fill("round=5");
  await page.getByText("100 of 100").waitFor();
  await page.getByRole("button", { name: "CrashLoopBackOff 25" }).waitFor();
  await page.getByRole("button", { name: "Running 75" }).waitFor();
  await eventually(async () => {
    const shown = await page.getByRole("row").evaluateAll((rows) => rows.slice(1).map((row) => row.ariaLabel ?? ""));
    return shown.map((text) => text.split(" ").slice(0, 4).join(" ")).slice(0, 3);
  }).toEqual([
    "burst-100 CrashLoopBackOff (5 restarts,",
    "burst-104 CrashLoopBackOff (5 restarts,",
    "burst-108 CrashLoopBackOff (5 restarts,",
  ]);
  await page.getByRole("row", { name: /burst-100/ }).waitFor();
  expect(await page.getByRole("row", { name: /burst-099/ }).count()).toBe(0);
});

test("keeps the namespace that is being typed while the list changes", async () => {
  const { page, api } = await open(1);
  await page.getByText("1 of 1").waitFor();
  const namespace = page.getByLabel("Namespace");
  await namespace.pressSequentially("team-");
  add(api, 1);
  await page.getByText("2 of 2").waitFor();
  expect(await namespace.inputValue()).toBe("team-");
  await namespace.pressSequentially("a");
  await namespace.press("Enter");
  await page.getByText("There are no sandboxes in namespace team-a.").waitFor();
  expect(new URL(page.url()).hash).toBe("#/sandboxes?namespace=team-a");
  await namespace.fill("");
  await namespace.press("Enter");
  await page.getByText("2 of 2").waitFor();
  expect(new URL(page.url()).hash).toBe("#/sandboxes");
});

/** Opens the dashboard of an API server with `count` Sandboxes, `many-0000` and so on. */
function open(count: number): Promise<InMemory> {
  return openInMemory((api) => {
    for (let index = 0; index < count; index++) add(api, index);
  });
}

function add(api: FakeApi, index: number): void {
  const name = `many-${String(index).padStart(4, "0")}`;
  api.put(`/apis/agents.x-k8s.io/v1beta1/namespaces/default/sandboxes/${name}`, {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name, namespace: "default" },
    spec: { podTemplate: { spec: { containers: [{ name: "main", image: "tool:1" }] } } },
  });
}
