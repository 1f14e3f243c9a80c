/** What the dashboard's panel says and asks while people work in a sandbox, in a real browser. @module */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { findChromium } from "./chromium.ts";
import { buildPage, type InMemory, openInMemory, serveInside } from "./inmemory.ts";
import { fill } from "./objects.ts";

let chromium: string;

beforeAll(async () => {
  chromium = await findChromium();
  await buildPage();
});

/** Opens the panel of an object, such as `claims?open=team-a/session`, with the objects of {@link fill}. */
function open(hash: string, podIP?: string): Promise<InMemory> {
  return openInMemory(chromium, (api) => fill(api, podIP), `#/${hash}`);
}

test("asks before unsaved changes to a file are lost, whichever way the user leaves it", async () => {
  const { ip, root } = await serveInside({ "note.txt": "one\n" });
  const { page, wrong, picture } = await open("sandboxes?open=team-a/python-1", ip);
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const dialog = page.getByRole("dialog", { name: "Discard the changes to note.txt?" });
  const text = page.getByLabel("Content of note.txt");
  await page.getByText("Files", { exact: true }).click();
  await button("note.txt").click();
  await button("Edit").click();
  await button("Back to the folder").click();
  await button("note.txt").click();
  await button("Edit").click();
  await text.fill("two\n");
  const ways = {
    back: () => button("Back to the folder").click(),
    folder: () => button("/").click(),
    close: () => button("Close").click(),
    fold: () => page.getByText("Files", { exact: true }).click(),
    row: () => page.getByRole("row", { name: /python-2/ }).click(),
    link: () => page.getByRole("link", { name: "session" }).first().click(),
  };
  for (const [way, leave] of Object.entries(ways)) {
    await leave();
    await dialog.waitFor();
    if (way === "row") await picture("discard");
    await button("Keep editing").click();
    await dialog.waitFor({ state: "detached" });
    expect(await text.inputValue(), way).toBe("two\n");
    expect(new URL(page.url()).hash, way).toBe("#/sandboxes?open=team-a/python-1");
  }
  const leaving = page.waitForEvent("dialog");
  void page.close({ runBeforeUnload: true });
  const question = await leaving;
  expect(question.type()).toBe("beforeunload");
  await question.dismiss();
  await page.getByRole("row", { name: /python-2/ }).click();
  await dialog.getByRole("button", { name: "Discard" }).click();
  await page.getByRole("heading", { name: "python-2" }).waitFor();
  expect(readFileSync(join(root, "note.txt"), "utf8")).toBe("one\n");
  expect(wrong).toEqual([]);
});
