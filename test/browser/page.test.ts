/** The dashboard in a real browser, on an API server in memory. @module */
import { beforeAll, expect, test } from "vitest";
import type { FakeApi } from "../kube/fakeapi.ts";
import { findChromium } from "./chromium.ts";
import { buildPage, type InMemory, openInMemory } from "./inmemory.ts";

let chromium: string;

beforeAll(async () => {
  chromium = await findChromium();
  await buildPage();
});

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
  return openInMemory(chromium, (api) => {
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
