/** The column STATUS of the dashboard's lists in a real browser, on an API server in memory. @module */
import { expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import type { FakeApi } from "../kube/fakeapi.ts";
import {
  condition,
  crashedPod,
  expectNames,
  expectTexts,
  hashOf,
  openInMemory,
  putSandbox,
  refuse,
  rowOf,
  runningPod,
  unschedulablePod,
} from "./inmemory.ts";

test("shows one STATUS for each object, counts them, and filters by one or several; back returns", async () => {
  const { page, wrong, picture } = await open((api) => {
    putSandbox(api, "running", { pod: runningPod() });
    putSandbox(api, "crash", { pod: crashedPod(6, "waiting") });
    putSandbox(api, "large", { pod: unschedulablePod() });
    putSandbox(api, "asleep", {
      spec: { operatingMode: "Suspended" },
      conditions: [condition("Ready", "SandboxSuspended")],
    });
  });
  await rowOf(page, "crash CrashLoopBackOff (6 restarts, exit code 3)").waitFor();
  await rowOf(page, "large Unschedulable (Insufficient cpu)").waitFor();
  const counts = page.getByRole("group", { name: "Statuses" }).getByRole("button");
  await expectTexts(counts, ["CrashLoopBackOff 1", "Unschedulable 1", "Running 1", "Suspended 1"]);
  await picture("statuses");
  await counts.filter({ hasText: "Unschedulable" }).click();
  await expectNames(page, ["large"]);
  expect(hashOf(page)).toBe("#/sandboxes?namespace=team-a&status=Unschedulable");
  expect(await counts.filter({ hasText: "Unschedulable" }).getAttribute("aria-pressed")).toBe("true");
  await counts.filter({ hasText: "CrashLoopBackOff" }).click();
  await expectNames(page, ["crash", "large"]);
  expect(hashOf(page)).toBe("#/sandboxes?namespace=team-a&status=Unschedulable,CrashLoopBackOff");
  await counts.filter({ hasText: "Unschedulable" }).click();
  await expectNames(page, ["crash"]);
  for (let back = 0; back < 3; back++) await page.goBack();
  await expectNames(page, ["asleep", "crash", "large", "running"]);
  await page.getByRole("link", { name: "Claims" }).click();
  await page.getByText("There are no claims in namespace team-a.").waitFor();
  expect(wrong).toEqual([]);
});

test("a crash loop keeps its status and colour while its container runs, ends and waits", async () => {
  const { page, api } = await open((api) => putSandbox(api, "crash", { pod: crashedPod(6, "waiting") }));
  await rowOf(page, "crash CrashLoopBackOff (6 restarts, exit code 3)").waitFor();
  const row = page.getByRole("row", { name: /^crash/ });
  await row.evaluate((element) => {
    const seen = new Set<string>();
    Object.assign(globalThis, { seen });
    const note = () => seen.add(`${element.className} ${element.querySelector(".status")?.textContent}`);
    note();
    new MutationObserver(note).observe(element, {
      subtree: true,
      childList: true,
      characterData: true,
      attributes: true,
    });
  });
  for (const [restarts, state] of [[6, "running"], [6, "ended"], [7, "waiting"], [7, "running"]] as const) {
    const isReady = state === "running";
    putSandbox(api, "crash", {
      pod: crashedPod(restarts, state),
      conditions: [condition("Ready", isReady ? "" : "PodNotReady")],
    });
    await eventually(() => row.innerText()).toContain(`${restarts} restarts`);
  }
  // The last state arrives with the same text as the one before: a mark behind it shows that it has arrived.
  putSandbox(api, "mark", {});
  await rowOf(page, "mark Starting").waitFor();
  expect(await page.evaluate(() => [...(globalThis as unknown as { seen: Set<string> }).seen])).toEqual([
    "bad CrashLoopBackOff(6 restarts, exit code 3)",
    "bad CrashLoopBackOff(7 restarts, exit code 3)",
  ]);
});

test("no sandbox has a STATUS before its Pod is read, and a filter by one hides none of them for good", async () => {
  const { promise: read, resolve: letRead } = Promise.withResolvers<void>();
  const { page } = await open((api) => {
    putSandbox(api, "crash", { pod: crashedPod(6, "waiting") });
    const before = api.intercept;
    api.intercept = async (request) => {
      if (request.path.endsWith("/pods")) await read;
      return before(request);
    };
  });
  const row = page.getByRole("row", { name: /^crash/ });
  await row.waitFor();
  expect(await row.innerText()).not.toContain("Starting");
  expect(await page.getByRole("group", { name: "Statuses" }).count()).toBe(0);
  await page.evaluate(() => location.hash += "&status=CrashLoopBackOff");
  await page.getByText("Loading sandboxes…").waitFor();
  letRead();
  await rowOf(page, "crash CrashLoopBackOff (6 restarts, exit code 3)").waitFor();
});

test("a user who may not list Pods sees what the objects report, and reads why it is little", async () => {
  const { page } = await open((api) => {
    putSandbox(api, "asleep", {
      spec: { operatingMode: "Suspended" },
      conditions: [condition("Ready", "SandboxSuspended")],
    });
    refuse(api, "/pods");
  });
  await rowOf(page, "asleep Suspended").waitFor();
  await page.getByText("Your user may not list Pods in namespace team-a, so STATUS shows only").waitFor();
});

function open(fill: (api: FakeApi) => void) {
  return openInMemory(fill, "#/sandboxes?namespace=team-a");
}
