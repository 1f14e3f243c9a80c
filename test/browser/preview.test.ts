/** The page of a sandbox's port, which the dashboard links to, in a real browser. @module */
import { createServer, type IncomingMessage } from "node:http";
import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { listenOn } from "../../packages/process/connections.ts";
import { eventually } from "../eventually.ts";
import { takePicture } from "./chromium.ts";
import { openInMemory } from "./inmemory.ts";
import { fill } from "./objects.ts";

const PANEL = "#/sandboxes?namespace=team-a&open=team-a/python-1";
const DOMAIN = ["--domain", "sandbox.test"];
const ONCE = ["--authz-cookie-query-param", "token", "--authz-cookie-name", "access", "--authz-cookie-insecure"];

/** Serves a page as a sandbox does, and opens the section with its ports. */
async function openPorts(...router: string[]) {
  const seen: IncomingMessage[] = [];
  const app = createServer((request, response) => {
    seen.push(request);
    if (request.url === "/endless") return void response.writeHead(200, { "Content-Type": "text/plain" }).write("tick");
    response.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html><title>app</title>The app is here.");
  });
  const port = await listenOn(app, "127.0.0.1", 0);
  onTestFinished(() => {
    app.closeAllConnections();
    app.close();
  });
  const shown = await openInMemory(
    (api) => {
      fill(api, "127.0.0.1");
      api.intercept = ({ path, body }) => {
        const { spec: { token = "" } = {} } = (body ?? {}) as { spec?: { token?: string } };
        const user = { authenticated: token === "of-the-app", user: { username: "app", groups: [] } };
        if (path.endsWith("/tokenreviews")) return { status: 201, body: { status: user } };
        if (path.endsWith("/subjectaccessreviews")) return { status: 201, body: { status: { allowed: true } } };
        return undefined;
      };
    },
    PANEL,
    { router: [...DOMAIN, ...router], browser: ["--host-resolver-rules=MAP *.sandbox.test 127.0.0.1"] },
  );
  const { page } = shown;
  await page.getByText("Ports", { exact: true }).click();
  await page.getByLabel("Port", { exact: true }).fill(String(port));
  return { ...shown, port, seen };
}

/** Follows the link, and returns the page that the browser opens. */
async function follow(page: Page): Promise<Page> {
  const opening = page.context().waitForEvent("page");
  await page.getByRole("link", { name: "Open preview" }).click();
  const opened = await opening;
  await opened.waitForLoadState();
  return opened;
}

test("a preview opens on a host of its own, and knows nothing of the dashboard", async () => {
  const { page, port, seen, wrong } = await openPorts("--authz-mode", "allow-all");
  await page.getByRole("link", { name: "Open preview" }).scrollIntoViewIfNeeded();
  await takePicture(page, "dashboard-preview");
  const app = await follow(page);
  await app.getByText("The app is here.").waitFor();
  expect(new URL(app.url()).hostname).toBe(`${port}-python-1-team-a.sandbox.test`);
  expect(await app.evaluate(() => [opener, document.referrer, document.cookie])).toEqual([null, "", ""]);
  const [request] = seen;
  expect(request?.headers).not.toHaveProperty("authorization");
  expect(request?.headers).not.toHaveProperty("referer");
  expect(wrong).toEqual([]);
});

test("an answer that never ends is shown as far as it has come, and can be cancelled", async () => {
  const { page, seen } = await openPorts("--authz-mode", "allow-all");
  await page.getByLabel("Path", { exact: true }).fill("/endless");
  await page.getByRole("button", { name: "Send GET" }).click();
  const answer = page.getByRole("region", { name: "Answer" });
  await answer.getByText("200 OK, text/plain").waitFor();
  await answer.getByText("tick").waitFor();
  expect(await page.getByRole("button", { name: "Send GET" }).isEnabled()).toBe(false);
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await answer.getByText(/^tick\s+\(cancelled\)$/).waitFor();
  await eventually(() => seen[0]?.socket.destroyed).toBe(true);
  await page.getByLabel("Path", { exact: true }).fill("/");
  await page.getByRole("button", { name: "Send GET" }).click();
  await answer.getByText("The app is here.").waitFor();
});

test("a router that asks for tokens gets none from the dashboard: the user adds one once, and the app never sees it", async () => {
  const { page, seen } = await openPorts("--authz-mode", "tokenreview", ...ONCE);
  await page.getByText("add ?token=TOKEN to the address").scrollIntoViewIfNeeded();
  await takePicture(page, "dashboard-preview-token");
  const app = await follow(page);
  await app.getByText("Missing or invalid Authorization header.").waitFor();
  const { href: address } = new URL(app.url());
  await app.goto(`${address}?token=of-the-app`);
  await app.getByText("The app is here.").waitFor();
  expect(app.url()).toBe(address);
  const again = await follow(page);
  await again.getByText("The app is here.").waitFor();
  expect(await again.evaluate(() => document.cookie)).toBe("");
  expect(JSON.stringify(seen.map(({ url, headers }) => [url, headers]))).not.toContain("of-the-app");
});

test("if no browser can send the router a token, there is no link that leads nowhere, but a command", async () => {
  const { page, port } = await openPorts("--authz-mode", "tokenreview");
  await page.getByText("The router lets no browser open pages of sandboxes.").waitFor();
  await page.getByText(`hookbox open python-1 ${port} -n team-a`).scrollIntoViewIfNeeded();
  await takePicture(page, "dashboard-preview-command");
  expect(await page.getByRole("link", { name: "Open preview" }).count()).toBe(0);
});
