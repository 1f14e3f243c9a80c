/** The dashboard's panel of one object in a real browser: the API server is in memory, the runtime is on this machine. @module */
import { Buffer } from "node:buffer";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import { openFilled, serveInside } from "./inmemory.ts";
import { AGENTS, EXTENSIONS } from "./objects.ts";

test("shows first what people look for, and leads from object to object", async () => {
  const { page, wrong, picture } = await openFilled("claims?open=team-a/session");
  const overview = page.getByRole("region", { name: "Overview" });
  await overview.getByText("tool:1").waitFor();
  await overview.getByText("team=blue").waitFor();
  await overview.getByText("10.0.0.7").waitFor();
  await picture("overview");
  await overview.getByRole("link", { name: "python-1" }).click();
  await page.getByRole("heading", { name: "python-1" }).waitFor();
  await page.getByRole("link", { name: "session" }).first().waitFor();
  await page.getByRole("region", { name: "Overview" }).getByRole("link", { name: "python", exact: true }).click();
  await page.getByRole("region", { name: "Members" }).getByRole("link", { name: "python-3" }).waitFor();
  await page.getByRole("region", { name: "Overview" }).getByRole("link", { name: "py", exact: true }).click();
  await page.getByRole("region", { name: "Overview" }).getByText("claims may add").waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "python", exact: true }).waitFor();
  expect(wrong).toEqual([]);
});

test("says what deleting the Sandbox of a claim means, and deletes what is chosen, by its UID", async () => {
  const { page, api, picture } = await openFilled("sandboxes?open=team-a/python-1");
  // The question names the pool if the claim is known by then.
  await page.getByRole("region", { name: "Overview" }).getByRole("link", { name: "python", exact: true }).waitFor();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Claim session uses this Sandbox.").waitFor();
  await dialog.getByText("volume data-python-1").waitFor();
  await dialog.getByText("gets another sandbox from pool python at once").waitFor();
  await picture("delete");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  expect(api.requests.filter(({ method }) => method === "DELETE")).toEqual([]);
  const sandbox = api.get(`${AGENTS}/sandboxes/python-1`)!;
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await dialog.getByRole("button", { name: "Replace its sandbox" }).click();
  await page.getByText("It no longer exists.").waitFor();
  const [sent] = api.requests.filter(({ method }) => method === "DELETE");
  expect(sent?.path).toBe(`${AGENTS}/sandboxes/python-1`);
  expect(sent?.body).toMatchObject({ preconditions: { uid: sandbox.metadata.uid } });
  expect(api.get(`${EXTENSIONS}/sandboxclaims/session`)).toBeDefined();
});

test("suspends the sandbox of a claim, resumes it, and sets when the claim expires", async () => {
  const { page, api, picture } = await openFilled("claims?open=team-a/session");
  const modeOf = () => (api.get(`${AGENTS}/sandboxes/python-1`)?.["spec"] as { operatingMode?: string }).operatingMode;
  await page.getByRole("button", { name: "Suspend" }).click();
  await page.getByRole("dialog").getByText("Claim session is not Ready until").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Suspend" }).click();
  await eventually(modeOf).toBe("Suspended");
  await page.getByRole("button", { name: "Resume" }).click();
  await eventually(modeOf).toBe("Running");
  await page.getByRole("button", { name: "Set expiry" }).click();
  await page.getByLabel("Expires").selectOption("In 1 day");
  await picture("expiry");
  await page.getByRole("dialog").getByRole("button", { name: "Set expiry" }).click();
  const lifecycle = () =>
    (api.get(`${EXTENSIONS}/sandboxclaims/session`)?.["spec"] as { lifecycle?: Record<string, string> }).lifecycle;
  await eventually(lifecycle).toMatchObject({ shutdownPolicy: "Delete" });
  const hours = (Date.parse(lifecycle()!["shutdownTime"]!) - Date.now()) / 3_600_000;
  expect(Math.round(hours)).toBe(24);
  await page.getByRole("region", { name: "Overview" }).getByText(/^in (23|24)h$/).waitFor();
});

test("changes a pool's size by a button, and names the members that go", async () => {
  const { page, api, picture } = await openFilled("pools?open=team-a/python");
  const sizeOf = () => (api.get(`${EXTENSIONS}/sandboxwarmpools/python`)?.["spec"] as { replicas: number }).replicas;
  await page.getByLabel("Size").fill("1");
  await page.getByRole("heading", { name: "python", exact: true }).click();
  expect(sizeOf(), "leaving the field changes nothing").toBe(2);
  await page.getByRole("button", { name: "Change size" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("python-3").waitFor();
  expect(await dialog.getByText(/python-2|python-1/).count()).toBe(0);
  await picture("shrink");
  await dialog.getByRole("button", { name: "Change size to 1" }).click();
  await eventually(sizeOf).toBe(1);
  await page.getByLabel("Size").fill("4");
  await page.getByLabel("Size").press("Enter");
  await eventually(sizeOf).toBe(4);
});

test("keeps the size that a user is about to replace when somebody else changes it", async () => {
  const { page, api } = await openFilled("pools?open=team-a/python");
  const path = `${EXTENSIONS}/sandboxwarmpools/python`;
  const pool = api.get(path)!;
  await page.getByLabel("Size").selectText();
  api.put(path, { ...pool, spec: { ...pool["spec"] as object, replicas: 9 } });
  await page.getByText(/2 of 9 are Ready/).first().waitFor();
  await page.keyboard.type("4");
  expect(await page.getByLabel("Size").inputValue()).toBe("4");
  await page.getByLabel("Size").fill("2");
  await page.getByLabel("Size").fill("9");
  await page.getByLabel("Size").blur();
  api.put(path, { ...api.get(path)!, spec: { ...pool["spec"] as object, replicas: 7 } });
  await eventually(() => page.getByLabel("Size").inputValue()).toBe("7");
});

test("shows errors whole, with commands to copy, and YAML without managedFields", async () => {
  const { page, api, picture } = await openFilled("sandboxes?open=team-a/python-2");
  const long = `sandboxes "python-2" is forbidden: ${
    "a long reason ".repeat(40)
  }; ask: kubectl auth can-i patch x -n y.`;
  const { intercept } = api;
  api.intercept = (request) =>
    request.method === "PATCH" ? { status: 403, body: { message: long } } : intercept(request);
  await page.getByRole("button", { name: "Suspend" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Suspend" }).click();
  const alert = page.getByRole("alert").filter({ hasText: "is forbidden" });
  await alert.waitFor();
  await alert.getByRole("button", { name: "Copy the command" }).waitFor();
  expect(await alert.evaluate((element) => element.scrollWidth <= element.clientWidth)).toBe(true);
  await picture("error");
  await page.getByText("YAML", { exact: true }).click();
  const yaml = page.locator(".yaml");
  await yaml.getByText("kind: Sandbox").waitFor();
  expect(await yaml.innerText()).not.toContain("managedFields");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy the YAML" }).click();
  await page.getByText("Copied").waitFor();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain("kind: Sandbox");
});

test("keeps a port that the user has begun to edit when the ports of the Pod become known", async () => {
  const { page, api } = await openFilled("pools");
  const { intercept } = api;
  let isBroken = true;
  api.intercept = (request) =>
    isBroken && request.path.endsWith("/pods/python-1")
      ? { status: 500, body: { message: "not now" } }
      : intercept(request);
  await page.evaluate(() => location.hash = "#/sandboxes?namespace=team-a&open=team-a/python-1");
  await page.getByText("Ports", { exact: true }).click();
  const field = page.getByLabel("Port", { exact: true });
  expect(await field.inputValue()).toBe("8080");
  await field.focus();
  isBroken = false;
  await page.getByRole("heading", { name: "Timeline" }).waitFor();
  expect(await field.inputValue()).toBe("8080");
});

test("creates a claim from a pool or template that exists, with variables, and opens it", async () => {
  const { page, api, wrong, picture } = await openFilled("claims?namespace=team-a");
  await page.getByRole("button", { name: "New sandbox" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Pool or template").selectOption("pool/python");
  await dialog.getByLabel("Name (optional)").fill("mine");
  await dialog.getByLabel(/^Environment variables/).fill("no value");
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByRole("alert").filter({ hasText: "write NAME=VALUE" }).waitFor();
  await dialog.getByLabel(/^Environment variables/).fill("MODE=test");
  await picture("create");
  await dialog.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { name: "mine" }).waitFor();
  expect(api.get(`${EXTENSIONS}/sandboxclaims/mine`)?.["spec"]).toMatchObject({
    warmPoolRef: { name: "python" },
    env: [{ name: "MODE", value: "test" }],
  });
  expect(new URL(page.url()).hash).toContain("open=team-a/mine");
  await page.getByRole("region", { name: "Overview" }).getByText("Pending").waitFor();
  await picture("created");
  expect(wrong).toEqual([]);
});

test("says what to do where there is nothing to create a sandbox from, and why creating fails", async () => {
  const { page, api, picture } = await openFilled("claims?namespace=empty");
  // The empty list has such a button, too.
  await page.getByRole("button", { name: "New sandbox" }).first().click();
  await page.getByRole("dialog").getByText("has no pools and no templates").waitFor();
  await picture("create-empty");
  await page.getByRole("dialog").getByLabel("Namespace").selectOption("team-a");
  await page.getByLabel("Pool or template").selectOption("pool/python");
  await page.getByLabel("Name (optional)").fill("session");
  await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
  await page.getByRole("alert").filter({ hasText: /Cannot create .*session/ }).waitFor();
  expect(api.requests.filter(({ method }) => method === "POST").length).toBeGreaterThan(0);
});

test("follows a log only while its end is in view, with colours, a search, runs and a download", async () => {
  const { page, api, wrong, picture } = await openFilled("sandboxes?open=team-a/python-1");
  const { intercept } = api;
  const lines = Array.from({ length: 300 }, (_, index) => `line ${index} \x1b[31mred\x1b[0m`);
  const previous = "the run before\n";
  api.intercept = (request) => {
    if (!request.path.endsWith("/log")) return intercept(request);
    return { status: 200, body: request.query?.["previous"] === "true" ? previous : `${lines.join("\n")}\n` };
  };
  await page.getByText("Log", { exact: true }).click();
  const log = page.getByRole("log");
  await log.getByText("line 299").waitFor();
  const isAtEnd = () => log.evaluate((one) => one.scrollHeight - one.scrollTop - one.clientHeight < 30);
  expect(await isAtEnd()).toBe(true);
  const colour = await log.locator(".ansi-red").first().evaluate((one) => getComputedStyle(one).color);
  expect(colour).not.toBe(await log.evaluate((one) => getComputedStyle(one).color));
  await picture("log");
  await log.evaluate((one) => one.scrollTop = 0);
  await page.getByRole("button", { name: "Go to the end" }).waitFor();
  await page.getByLabel("Search the log").fill("line 29");
  await page.getByText("11 of 300 lines").waitFor();
  expect(await log.evaluate((one) => one.scrollTop)).toBe(0);
  await page.getByLabel("Search the log").fill("");
  const downloading = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  expect(await textOf(await (await downloading).createReadStream())).toContain("line 0 \x1b[31mred");
  await page.getByLabel(/^Previous run/).check();
  await log.getByText("the run before").waitFor();
  await page.getByText("This is the end of the previous run.").waitFor();
  expect(wrong).toEqual([]);
});

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Its error would look like one of the API server, with a command to copy. */
const TRAP =
  'pods "x" is forbidden: User "mallory" cannot create resource "sandboxes" in API group "agents.x-k8s.io" at the cluster scope';

test("manages files: views, edits, renames, deletes, uploads, downloads folders, follows links", async () => {
  const image = Buffer.from(PIXEL, "base64");
  const { ip, root } = await serveInside({ "note.txt": "one\n", "dot.png": image });
  symlinkSync("/", join(root, TRAP));
  const { page, wrong, picture } = await openFilled("sandboxes?open=team-a/python-1", ip);
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  await page.getByText("Files", { exact: true }).click();
  await button(TRAP).click();
  await page.getByRole("alert").filter({ hasText: "mallory" }).waitFor();
  expect(await page.getByRole("alert").getByRole("button", { name: "Copy" }).count()).toBe(0);
  await button("note.txt").click();
  await page.locator("pre").filter({ hasText: "one" }).waitFor();
  await button("Edit").click();
  await page.getByLabel("Content of note.txt").fill("two\n");
  await button("Save").click();
  await page.getByText("Saved.").waitFor();
  expect(readFileSync(join(root, "note.txt"), "utf8")).toBe("two\n");
  await button("Edit").click();
  await page.getByLabel("Content of note.txt").fill("three\n");
  writeFileSync(join(root, "note.txt"), "changed inside\n");
  await button("Save").click();
  await page.getByRole("alert").filter({ hasText: "has changed the file" }).waitFor();
  expect(readFileSync(join(root, "note.txt"), "utf8")).toBe("changed inside\n");
  await button("Back to the folder").click();
  await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click();
  await button("dot.png").click();
  await eventually(() => page.locator("img.view").evaluate((one) => (one as HTMLImageElement).naturalWidth)).toBe(1);
  await button("Back to the folder").click();
  await button("New folder").click();
  await page.getByLabel("Name", { exact: true }).fill("sub");
  await button("OK").click();
  await button("sub/").click();
  await page.getByText("This folder is empty.").waitFor();
  await picture("folder-empty");
  const file = { name: "up.txt", mimeType: "text/plain", buffer: Buffer.from("up") };
  await page.getByLabel("Upload").setInputFiles(file);
  await button("up.txt").waitFor();
  await page.getByLabel("Upload").setInputFiles(file);
  await page.getByRole("dialog").getByText("has up.txt already").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  await button("/").click();
  await button("Rename note.txt").click();
  await page.getByLabel("Name", { exact: true }).fill("letter.txt");
  await button("OK").click();
  await button("letter.txt").waitFor();
  await picture("files");
  const downloading = page.waitForEvent("download");
  await button("Download sub").click();
  expect((await downloading).suggestedFilename()).toBe("sub.tar.gz");
  await button("Delete sub").click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await button("sub/").waitFor({ state: "detached" });
  expect(wrong).toEqual([]);
});

test("has several terminals, in full size, and comes back to a shell that was left", async () => {
  const { ip } = await serveInside({});
  const { page, wrong, picture } = await openFilled("sandboxes?open=team-a/python-1", ip);
  const rows = () => page.locator(".shell:not([hidden]) .xterm-rows");
  const enter = async (line: string, answer: string | RegExp) => {
    await page.keyboard.type(line);
    await page.keyboard.press("Enter");
    await rows().filter({ hasText: answer }).waitFor();
  };
  await page.getByText("Terminal", { exact: true }).click();
  await rows().filter({ hasText: /[#$]/ }).waitFor();
  await enter("mine=first; echo $((40+2))", "42");
  await page.getByRole("button", { name: "New terminal" }).click();
  await rows().filter({ hasText: /[#$]/ }).waitFor();
  await enter("echo other$mine-$((1+1))", "other-2");
  const before = await rows().boundingBox();
  await page.getByRole("button", { name: "Full size" }).click();
  await eventually(async () => (await rows().boundingBox())!.width).toBeGreaterThan(before!.width * 1.5);
  await picture("terminal-full");
  await page.getByRole("button", { name: "Leave full size" }).click();
  await page.getByRole("button", { name: "End", exact: true }).click();
  await page.getByRole("tab", { name: "Shell 2" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Close", exact: true }).click();
  await page.getByRole("row", { name: /python-1/ }).click();
  await page.getByText("Terminal", { exact: true }).click();
  await page.getByRole("button", { name: "Reconnect" }).click();
  await rows().filter({ hasText: "42" }).waitFor();
  await enter("echo still-$mine", "still-first");
  await picture("terminal");
  expect(wrong).toEqual([]);
});
