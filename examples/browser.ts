// deno-lint-ignore-file no-console -- programs print
/**
 * Controls a browser in a sandbox with Playwright: opens a page that the sandbox itself serves, clicks a button,
 * reads the result, and saves a screenshot. Needs the pool of browser.yaml: node browser.ts [picture].
 */
import process from "node:process";
import { Sandbox } from "hookbox";
import { chromium } from "playwright-core";

const [picture = "page.png"] = process.argv.slice(2);
const PAGE = `<!doctype html><title>Clicks</title>
<button onclick="document.querySelector('output').value++">Click me</button> <output>0</output>`;

await using sandbox = await Sandbox.create({ pool: "browser", timeoutMs: 600_000 });
await sandbox.files.write("site/index.html", PAGE);
const server = await sandbox.commands.run("cd site && exec python3 -u -m http.server 3000", { background: true });
for await (const { text } of server) if (text.includes("Serving")) break;

const address = await sandbox.getUrl(9222);
// The SDK sends the token itself; Playwright and fetch need it for a router.
const token = process.env["HOOKBOX_TOKEN"];
const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
const version = await (await fetch(`${address}/json/version`, { headers })).json() as { webSocketDebuggerUrl: string };
// Chromium returns a URL with the Pod's own address, which is not reachable from here. Only its path is used.
const { pathname } = new URL(version.webSocketDebuggerUrl);
const browser = await chromium.connectOverCDP(address.replace(/^http/, "ws") + pathname, { headers });

const page = await browser.newPage();
await page.goto("http://localhost:3000/");
await page.getByRole("button").click();
console.log(`${await page.title()}: ${await page.getByRole("status").textContent()}`);
await page.screenshot({ path: picture });
console.log(`${picture} shows it, by Chromium ${browser.version()}`);
await browser.close();
