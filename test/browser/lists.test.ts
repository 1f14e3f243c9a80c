/** The lists of the dashboard in a real browser, on an API server in memory, used with mouse, keyboard and phone. @module */
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import type { FakeApi } from "../kube/fakeapi.ts";
import {
  answer,
  crashedPod,
  expectNames,
  expectTexts,
  hashOf,
  openFilled,
  openInMemory,
  pathOf,
  putSandbox,
  refuse,
  rowOf,
  runningPod,
  unschedulablePod,
} from "./inmemory.ts";

test("a claimed Sandbox shows the pool of its claim, and headers explain what they count", async () => {
  const { page } = await openFilled("#/sandboxes?namespace=team-a");
  await expectTexts(page.locator(".cell-pool"), ["python", "python", "python"]);
  await page.getByRole("link", { name: "Pools" }).click();
  await page.getByRole("row", { name: /^python/ }).waitFor();
  const cold = page.getByRole("columnheader", { name: "COLD" }).getByRole("button");
  expect(await cold.getAttribute("title")).toMatch(/because the pool was empty/);
});

test("filter, order and open panel are in the address: a link shows the same, and back leads through them", async () => {
  const fill = (api: FakeApi) => {
    for (const [name, age] of [["b-2", 300], ["b-10", 90], ["a-1", 2 * DAY]] as const) putSandbox(api, name, { age });
  };
  const { page } = await open(fill);
  await expectNames(page, ["a-1", "b-10", "b-2"]);
  await page.getByLabel("Filter").fill("b-");
  await eventually(() => hashOf(page)).toBe("#/sandboxes?namespace=team-a&filter=b-");
  await page.getByRole("columnheader", { name: "NAME" }).getByRole("button").click();
  await expectNames(page, ["b-2", "b-10"]);
  expect(await page.getByRole("columnheader", { name: "NAME" }).getAttribute("aria-sort")).toBe("ascending");
  await page.getByRole("columnheader", { name: "NAME" }).getByRole("button").click();
  await expectNames(page, ["b-10", "b-2"]);
  await page.getByRole("row", { name: /^b-2/ }).click();
  await page.getByRole("heading", { name: "b-2" }).waitFor();
  const link = hashOf(page);
  expect(link).toBe("#/sandboxes?namespace=team-a&filter=b-&sort=-name&open=team-a/b-2");
  const other = await openInMemory(fill, link);
  await other.page.getByRole("heading", { name: "b-2" }).waitFor();
  await expectNames(other.page, ["b-10", "b-2"]);
  expect(await other.page.getByLabel("Filter").inputValue()).toBe("b-");
  await page.goBack();
  await page.getByRole("heading", { name: "b-2" }).waitFor({ state: "detached" });
  await page.goBack();
  await page.goBack();
  await expectNames(page, ["b-10", "b-2"]);
  await page.goBack();
  await expectNames(page, ["a-1", "b-10", "b-2"]);
  expect(await page.getByLabel("Filter").inputValue()).toBe("");
  await page.getByLabel("Filter").fill("a-");
  await eventually(() => hashOf(page)).toContain("filter=a-");
  await page.getByRole("link", { name: "Pools" }).click();
  expect(await page.getByLabel("Filter").inputValue(), "the filter stays in the next list").toBe("a-");
});

test("the list is one stop of the Tab key; arrow keys, Home, End, Enter, Escape, / and ? work", async () => {
  const { page } = await open((api) => many(api, 200));
  await page.getByText("200 of 200").waitFor();
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? "");
  const press = (...keys: string[]) =>
    keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());
  expect(await page.getByRole("grid").locator("[tabindex='0']").count()).toBe(1);
  await press("/", "ArrowDown");
  await eventually(focused).toMatch(/^many-0000 /);
  await press("ArrowDown", "ArrowDown", "ArrowUp");
  await eventually(focused).toMatch(/^many-0001 /);
  await press("End");
  await eventually(focused).toMatch(/^many-0199 /);
  await press("PageUp");
  await eventually(focused).toMatch(/^many-01[6-9]\d /);
  await press("Home");
  await eventually(focused).toMatch(/^many-0000 /);
  await press("ArrowUp");
  await eventually(() => page.evaluate(() => document.activeElement?.textContent ?? "")).toBe("NAME");
  await press("ArrowRight", "Enter");
  expect(await page.getByRole("columnheader", { name: "STATUS" }).getAttribute("aria-sort")).toBe("ascending");
  await press("ArrowDown", "End", "Enter");
  await page.getByRole("heading", { name: "many-0199" }).waitFor();
  await press("Escape");
  await page.getByRole("heading", { name: "many-0199" }).waitFor({ state: "detached" });
  await eventually(focused).toMatch(/^many-0199 /);
  await page.locator(".table").evaluate((element) => element.scrollTop = 0);
  await page.getByRole("row", { name: /^many-0000/ }).waitFor();
  expect(await focused(), "the focused row stays while another part is shown").toMatch(/^many-0199 /);
  await press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await press("Escape");
  await page.getByRole("dialog", { name: "Keys" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "New sandbox" }).click();
  // The field with the focus is disabled, as there are no pools.
  await page.getByText("has no pools and no templates").waitFor();
  await press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await press("/", "1", "9", "9");
  expect(await page.getByLabel("Filter").inputValue()).toBe("199");
  await expectNames(page, ["many-0199"]);
});

test("columns stay where they are while the list scrolls, and the important ones while a panel is open", async () => {
  const { page } = await open((api) => {
    many(api, 200);
    putSandbox(api, "many-0150-with-a-name-that-is-much-longer", { pod: unschedulablePod() });
  });
  await page.getByText("201 of 201").waitFor();
  // The Pods may come after the Sandboxes.
  await page.getByRole("button", { name: "Unschedulable 1" }).waitFor();
  const places = () =>
    page.getByRole("columnheader").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().x));
  const before = await places();
  const scroll = (top: number) => page.locator(".table").evaluate((element, top) => element.scrollTop = top, top);
  await scroll(150 * 34);
  await page.getByRole("row", { name: /^many-0150-with/ }).waitFor();
  expect(await places()).toEqual(before);
  await page.getByRole("row", { name: /^many-0150-with/ }).click();
  await page.getByRole("heading", { name: "many-0150-with" }).waitFor();
  const headers = page.getByRole("columnheader");
  await eventually(() => headers.allInnerTexts()).not.toContain("POD IP");
  expect((await headers.allInnerTexts()).join(" ")).toMatch(/NAME.*STATUS/);
  const list = (await page.getByRole("region", { name: "Sandboxes" }).boundingBox())!;
  for (const name of ["NAME", "STATUS"]) {
    const { x, width } = (await page.getByRole("columnheader", { name, exact: true }).boundingBox())!;
    expect(x + width).toBeLessThanOrEqual(list.x + list.width);
  }
});

test("offers the namespaces that the user may list, or has seen, and takes any other", async () => {
  const { page } = await open((api) => {
    putSandbox(api, "one", {});
    putSandbox(api, "two", { namespace: "team-b" });
    const items = ["default", "team-a", "team-b"].map((name) => ({ metadata: { name } }));
    answer(api, "/api/v1/namespaces", { status: 200, body: { metadata: {}, items } });
  }, "#/sandboxes");
  await expectNames(page, ["one", "two"]);
  const field = page.getByRole("combobox", { name: "Namespace" });
  const options = page.getByRole("option");
  await field.click();
  await expectTexts(options, ["All namespaces", "default", "team-a", "team-b"]);
  await options.filter({ hasText: "team-b" }).click();
  await expectNames(page, ["two"]);
  expect(hashOf(page)).toBe("#/sandboxes?namespace=team-b");
  await field.fill("team-a");
  await expectTexts(options, ["team-a"]);
  await field.press("ArrowDown");
  await field.press("Enter");
  await expectNames(page, ["one"]);
  await field.fill("elsewhere");
  await field.press("Enter");
  await page.getByText("There are no sandboxes in namespace elsewhere.").waitFor();
  await page.getByText("This namespace does not exist, or is new.").waitFor();
});

test("without a right to all namespaces, says what to do, and offers what was seen", async () => {
  const { page } = await open((api) => {
    putSandbox(api, "one", {});
    refuse(api, "/api/v1/namespaces");
    refuse(api, "/apis/agents.x-k8s.io/v1beta1/sandboxes");
  }, "#/sandboxes");
  await page.getByRole("alert").getByText("Your user may not list sandboxes in all namespaces.").waitFor();
  await page.getByText("Choose one of your namespaces above, or ask for the right.").waitFor();
  await page.getByText("ClusterRole hookbox-view has this right.").waitFor();
  await expectInSight(page, page.getByRole("alert"));
  const field = page.getByRole("combobox", { name: "Namespace" });
  await field.fill("team-a");
  await field.press("Enter");
  await expectNames(page, ["one"]);
  await field.fill("");
  await expectTexts(page.getByRole("option"), ["All namespaces", "team-a"]);
});

test("says in the middle of an empty list what to do next", async () => {
  const { page } = await open((api) => putSandbox(api, "one", {}));
  await expectNames(page, ["one"]);
  await page.getByLabel("Filter").fill("nothing like it");
  const none = page.getByText('No sandboxes match "nothing like it". The filter hides 1.');
  await none.waitFor();
  await expectInSight(page, none);
  await page.getByRole("button", { name: "Clear the filter" }).click();
  await expectNames(page, ["one"]);
  for (const [list, kind] of [["Templates", "SandboxTemplate"], ["Pools", "SandboxWarmPool"]] as const) {
    await page.getByRole("link", { name: list }).click();
    await page.getByText(`There are no ${list.toLowerCase()} in namespace team-a.`).waitFor();
    await expectInSight(page, page.getByText(`kind: ${kind}`));
  }
});

test("on a phone, rows are cards, the lists are readable, and nothing is cut off", async () => {
  const { page, picture } = await open((api) => {
    many(api, 50);
    const owner = { apiVersion: "v1", kind: "SandboxClaim", name: "a-claim-with-a-name", uid: "u", controller: true };
    const spec = { shutdownTime: new Date(Date.now() + 1000 * DAY).toISOString() };
    putSandbox(api, "crash", { pod: crashedPod(6, "waiting"), metadata: { ownerReferences: [owner] }, spec });
  }, "#/sandboxes");
  await page.setViewportSize({ width: 375, height: 720 });
  await page.getByText("51 of 51").waitFor();
  await picture("phone-list");
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(375);
  for (const link of await page.getByRole("navigation").getByRole("link").all()) {
    expect(await link.evaluate((element) => element.scrollWidth <= element.clientWidth)).toBe(true);
    const { x, width } = (await link.boundingBox())!;
    expect([x >= 0, x + width <= 375]).toEqual([true, true]);
  }
  const row = page.getByRole("row", { name: /crash/ });
  const [name, status] = [row.getByText("crash", { exact: true }), row.getByText("CrashLoopBackOff", { exact: true })];
  for (const part of [name, status]) expect((await part.boundingBox())!.width).toBeGreaterThan(30);
  expect((await status.boundingBox())!.x + (await status.boundingBox())!.width).toBeLessThanOrEqual(375);
  // Of the values in the second line, only the last one may be cut off.
  const values = page.getByRole("row").first().locator(".second > :not(:last-child)");
  expect(await values.count()).toBeGreaterThan(1);
  for (const value of await values.all()) {
    expect(await value.evaluate((element) => element.scrollWidth <= element.clientWidth)).toBe(true);
  }
  await page.getByLabel("Sort by").selectOption("status");
  await eventually(() => page.getByRole("row").first().getAttribute("aria-label")).toContain("crash");
  await row.click();
  await page.getByRole("heading", { name: "crash" }).waitFor();
  await page.keyboard.press("Escape");
  await row.waitFor();
});

test("ends all sandboxes that are older than a day, those of claims with their claims", async () => {
  const { page, api, wrong, picture } = await open((api) => {
    putSandbox(api, "new", {});
    putSandbox(api, "old", { age: 2 * DAY });
    const owner = { apiVersion: "v1", kind: "SandboxClaim", name: "job", uid: "uid-job", controller: true };
    putSandbox(api, "used", { age: 3 * DAY, metadata: { ownerReferences: [owner] } });
    api.put(pathOf("sandboxclaims", "job"), {
      apiVersion: "extensions.agents.x-k8s.io/v1beta1",
      kind: "SandboxClaim",
      metadata: { name: "job", namespace: "team-a", uid: "uid-job" },
      spec: { warmPoolRef: { name: "agents" } },
    });
  });
  await expectNames(page, ["new", "old", "used"]);
  await page.getByLabel("Filter").fill("age>1");
  await page.getByText('Cannot read "age>1" in the filter').waitFor();
  await expectNames(page, []);
  await page.getByLabel("Filter").fill("age>1d");
  await expectNames(page, ["old", "used"]);
  const before = await rowOf(page, "used").boundingBox();
  await page.getByRole("checkbox", { name: "Select old" }).check();
  await page.getByText("1 selected").waitFor();
  expect(await rowOf(page, "used").boundingBox()).toEqual(before);
  await page.getByRole("button", { name: "Select all 2" }).click();
  await page.getByText("2 selected").waitFor();
  await page.getByRole("button", { name: "Delete…" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete 1 claim and 1 sandbox?" });
  await dialog.getByText("In namespace team-a.").waitFor();
  for (const name of ["team-a/old", "team-a/job"]) await dialog.getByText(name).waitFor();
  await picture("delete");
  expect(api.requests.filter(({ method }) => method === "DELETE")).toEqual([]);
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  const deleted = api.requests.filter(({ method }) => method === "DELETE");
  expect(deleted.map(({ path }) => path.split("/").slice(-2).join("/")).sort()).toEqual([
    "sandboxclaims/job",
    "sandboxes/old",
  ]);
  expect(deleted.map(({ body }) => (body as { preconditions: { uid: string } }).preconditions.uid)).toContain(
    "uid-job",
  );
  expect(api.get(pathOf("sandboxes", "new"))).toBeDefined();
  expect(wrong).toEqual([]);
});

test("every control has a name, and every row only cells", async () => {
  const { page } = await open((api) => {
    putSandbox(api, "one", { pod: runningPod() });
    putSandbox(api, "two", {});
  });
  await expectNames(page, ["one", "two"]);
  await page.getByRole("row", { name: /^one/ }).focus();
  await page.keyboard.press("Space");
  await page.getByText("1 selected").waitFor();
  for (const role of ["button", "checkbox", "link", "searchbox", "combobox"] as const) {
    const all = await page.getByRole(role).count();
    expect(all, role).toBeGreaterThan(0);
    expect(await page.getByRole(role, { name: /\S/ }).count(), role).toBe(all);
  }
  const children = await page.getByRole("row").evaluateAll((rows) =>
    rows.flatMap((row) => [...row.children].map((child) => child.getAttribute("role")))
  );
  expect(new Set(children)).toEqual(new Set(["columnheader", "gridcell"]));
  expect(await page.getByRole("row", { selected: true }).count()).toBe(1);
});

const DAY = 86_400;

function open(fill: (api: FakeApi) => void, hash = "#/sandboxes?namespace=team-a") {
  return openInMemory(fill, hash);
}

/** Expects something in the window, and not at its lower end. */
async function expectInSight(page: Page, element: Locator): Promise<void> {
  const { y, height } = (await element.boundingBox())!;
  const window = page.viewportSize()!.height;
  expect(y).toBeGreaterThan(window * 0.15);
  expect(y + height).toBeLessThan(window * 0.9);
}

function many(api: FakeApi, count: number): void {
  for (let index = 0; index < count; index++) {
    putSandbox(api, `many-${String(index).padStart(4, "0")}`, { age: 60 + index, pod: runningPod() });
  }
}
