/** What the dashboard's panel says and asks while people work in a sandbox, in a real browser. @module */
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../eventually.ts";
import { openFilled, openInMemory, putSandbox, serveInside, unschedulablePod } from "./inmemory.ts";

test("asks before unsaved changes to a file are lost, whichever way the user leaves it", async () => {
  const { ip, root } = await serveInside({ "note.txt": "one\n" });
  const { page, wrong, picture } = await openFilled("sandboxes?open=team-a/python-1", ip);
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

test("shows all files, from the working directory up to /, under their absolute paths", async () => {
  const { ip, root } = await serveInside({ "note.txt": "one\n" }, "workdir");
  symlinkSync("/etc/passwd", join(root, "users"));
  const { page, wrong } = await openFilled("sandboxes?open=team-a/python-1", ip);
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const path = page.getByRole("navigation", { name: "Folder" });
  await page.getByText("Files", { exact: true }).click();
  await button("note.txt").waitFor();
  expect(await path.textContent()).toBe(`/${root.slice(1)}/`);
  await button("users").click();
  await page.locator("pre").filter({ hasText: "root:" }).waitFor();
  await button("Back to the folder").click();
  await path.getByRole("button", { name: "/", exact: true }).click();
  await button("proc/").waitFor();
  await button("tmp/").click();
  await eventually(() => path.textContent()).toBe("/tmp/");
  await button(`${root.split("/").at(-1)}/`).click();
  await button("note.txt").waitFor();
  expect(wrong).toEqual([]);
});

test("says at once why nothing opens in a sandbox that does not run, and that its container has not started", async () => {
  const { page, api, picture } = await openInMemory(
    (api) => putSandbox(api, "large", { age: 600, pod: unschedulablePod() }),
    "#/sandboxes?open=team-a/large",
  );
  await page.getByRole("region", { name: "Overview" }).getByText("Unschedulable").waitFor();
  for (const section of ["Files", "Terminal", "Ports"]) await page.getByText(section, { exact: true }).click();
  const reason = page.locator("details").getByText(/^The sandbox does not run \(Unschedulable\)\. .*cpu/i);
  await eventually(() => reason.count()).toBe(3);
  expect(await page.getByText(/^(Opening|Connecting)…$/).count()).toBe(0);
  await page.getByText("Log", { exact: true }).click();
  await page.getByText("The container has not started.").waitFor();
  await picture("not-running");
  expect(api.requests.some(({ path }) => path.endsWith("/log"))).toBe(false);
});

test("gives the terminal the focus in full size and back, and names the sandbox there", async () => {
  const { ip } = await serveInside({});
  const { page, picture } = await openFilled("sandboxes?open=team-a/python-1", ip);
  const rows = page.locator(".shell:not([hidden]) .xterm-rows");
  await page.getByText("Terminal", { exact: true }).click();
  await rows.filter({ hasText: /[#$]/ }).waitFor();
  for (const [index, name] of ["Full size", "Leave full size"].entries()) {
    await page.getByRole("button", { name, exact: true }).click();
    // The answer, not the command, contains the sum.
    await page.keyboard.type(`echo sum-$((40+${index}))\n`);
    await rows.filter({ hasText: `sum-${40 + index}` }).waitFor();
    if (index === 0) await page.locator(".terminals.full").getByText("python-1", { exact: true }).waitFor();
    await picture(`terminal-${index}`);
  }
});

test("lists background jobs with the terminals", async () => {
  const { ip, root } = await serveInside({});
  const config = { command: ["sh", "-c", "sleep 4321 > /dev/null 2>&1 & echo $! > pid"] };
  const answer = await fetch(`http://${ip}:8080/hookbox.runtime.v1.ProcessesService/StartDetached`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ config }),
  });
  expect(answer.status).toBe(200);
  const readId = () => Number(readFileSync(join(root, "pid"), "utf8"));
  await eventually(readId).toBeGreaterThan(0);
  const id = readId();
  onTestFinished(() => void process.kill(id));
  const { page, picture } = await openFilled("sandboxes?open=team-a/python-1", ip);
  await page.getByText("Terminal", { exact: true }).click();
  await page.getByText("1 background job", { exact: true }).click();
  await page.getByText(`sleep 4321: process ${id}, since`).waitFor();
  await picture("job");
});

test("refuses a folder's name that is a path, shows whole ports, and the end of a long timeline", async () => {
  const { ip } = await serveInside({});
  const { page, picture } = await openFilled("sandboxes?open=team-a/python-1", ip);
  const entries = page.getByRole("region", { name: "Timeline" }).getByRole("listitem");
  await eventually(() => entries.count()).toBe(5);
  await page.getByRole("button", { name: /^Show all \d+$/ }).click();
  await eventually(() => entries.count()).toBeGreaterThan(5);
  await page.getByText("Ports", { exact: true }).click();
  await page.getByLabel("Port", { exact: true }).fill("65535");
  await picture("port");
  await page.getByText("Files", { exact: true }).click();
  await page.getByRole("button", { name: "New folder" }).click();
  for (const name of ["a/../b", ".."]) {
    await page.getByLabel("Name", { exact: true }).fill(name);
    await page.getByRole("dialog").getByRole("alert").waitFor();
    expect(await page.getByRole("button", { name: "OK" }).isDisabled(), name).toBe(true);
  }
  await page.getByLabel("Name", { exact: true }).fill("b");
  await page.getByRole("button", { name: "OK" }).click();
  await page.getByRole("button", { name: "b/" }).waitFor();
});
