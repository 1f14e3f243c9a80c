/** The dashboard's connection in a real browser: many tabs, a restarted router, an expired token, a silent network. @module */
import { Buffer } from "node:buffer";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from "node:http";
import { connect, createServer as createNetServer, type Socket } from "node:net";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { listenOn } from "../../packages/process/connections.ts";
import { eventually } from "../eventually.ts";
import { serveApi } from "../kube/servedapi.ts";
import { type MainProcess, startMain } from "../mainprocess.ts";
import { tokenOf } from "../router/dashboard/stage.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { followErrors, say, startChromium, takePicture } from "./chromium.ts";
import { buildPage, putSandbox, runningPod, serveInside } from "./inmemory.ts";
import { fill } from "./objects.ts";

beforeAll(buildPage);

const PANEL = "#/sandboxes?namespace=team-a&open=team-a/python-1";
const TABS = 8;

/** Serves objects with an API server that knows when a token has expired, and whose logs do not end. */
async function serveObjects(podIP?: string) {
  const { api, kubeconfig } = await serveApi();
  fill(api, podIP);
  const config = JSON.parse(readFileSync(kubeconfig, "utf8"));
  const { server: behind } = config.clusters[0].cluster;
  const answer = (incoming: IncomingMessage, response: ServerResponse) => {
    const { url = "", method, headers } = incoming;
    const token = headers.authorization?.replace("Bearer ", "") ?? "";
    const user = userOf(token);
    if (user === undefined) return void response.writeHead(401).end("{}");
    if (url.endsWith("/selfsubjectreviews")) {
      return void response.writeHead(201).end(JSON.stringify({ status: { userInfo: { username: user } } }));
    }
    if (/\/log\?.*follow=true/.test(url)) return void response.write("a line of the log\n");
    const outgoing = httpRequest(behind + url, { method, headers }, (come) => {
      response.writeHead(come.statusCode ?? 502, come.headers).flushHeaders();
      come.pipe(response);
    });
    response.once("close", () => outgoing.destroy());
    outgoing.on("error", () => response.destroy());
    incoming.pipe(outgoing);
  };
  const front = createServer(answer);
  const port = await listenOn(front, "127.0.0.1", 0);
  onTestFinished(() => {
    front.closeAllConnections();
    front.close();
  });
  config.clusters[0].cluster.server = `http://127.0.0.1:${port}`;
  const file = join(makeTempFolder(), "kubeconfig");
  writeFileSync(file, JSON.stringify(config));
  return { api, kubeconfig: file };
}

/** The user of a token; undefined: it has expired. The router's own token is not of this form. */
function userOf(token: string): string | undefined {
  const [, payload] = token.split(".");
  if (payload === undefined) return "router";
  const { sub, exp } = JSON.parse(Buffer.from(payload, "base64url").toString());
  return exp === undefined || exp * 1000 > Date.now() ? sub : undefined;
}

async function startRouter(kubeconfig: string, port = 0, ...more: string[]): Promise<MainProcess & { port: number }> {
  const args = ["packages/router/main.ts", "--kubeconfig", kubeconfig, "--authz-mode", "allow-all"];
  const flags = ["--port", String(port), "--allow-loopback-pod-ip", "--shutdown-timeout", "1h"];
  const router = await startMain("node", [...args, ...flags, ...more], "Serving");
  const [serving] = router.said("Serving");
  return { ...router, port: serving?.["port"] as number };
}

/** Opens a tab; if the test fails, it says what the tab shows. */
async function newTab(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  onTestFinished(async ({ task }) => {
    if (task.result?.state === "fail") say(`${page.url()} says: ${await page.locator("body").innerText()}`);
  });
  return page;
}

async function openTab(context: BrowserContext, port: number, hash = PANEL, token = tokenOf("ada@example.com")) {
  const page = await newTab(context);
  const wrong = followErrors(page);
  await page.goto(`http://127.0.0.1:${port}/.hookbox/${hash}`);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("row", { name: /python-1/ }).waitFor();
  return { page, wrong };
}

/** Opens log and terminal, and runs a command in a shell of the tab's own. */
async function openInside(page: Page, index: number): Promise<void> {
  await page.getByText("Log", { exact: true }).click();
  await page.getByText("a line of the log").waitFor();
  await page.getByText("Terminal", { exact: true }).click();
  await page.getByRole("button", { name: "New terminal" }).waitFor();
  if (index > 0) await page.getByRole("button", { name: "New terminal" }).click();
  // xterm draws only what can be seen.
  await page.locator(".shell:not([hidden]) .xterm").scrollIntoViewIfNeeded();
  const rows = page.locator(".shell:not([hidden]) .xterm-rows");
  await rows.filter({ hasText: /[#$]/ }).waitFor();
  await page.keyboard.type(`echo tab-$((${index}+100))`);
  await page.keyboard.press("Enter");
  await rows.filter({ hasText: `tab-${index + 100}` }).waitFor();
}

test("eight tabs show lists, logs and terminals at once", async () => {
  const { ip } = await serveInside({});
  const { api, kubeconfig } = await serveObjects(ip);
  const { port } = await startRouter(kubeconfig);
  const context = await startChromium();
  const tabs: { page: Page; wrong: readonly string[] }[] = [];
  for (let index = 0; index < TABS; index++) {
    const tab = await openTab(context, port);
    await openInside(tab.page, index);
    say(`tab ${index} has its log and terminal`);
    tabs.push(tab);
  }
  const { page: last } = tabs.at(-1)!;
  await last.getByText("ada@example.com").waitFor();
  // All of them are alive: a change arrives, and a key is answered.
  putSandbox(api, "new-one", { pod: runningPod() });
  for (const { page, wrong } of tabs) {
    await page.getByRole("row", { name: /new-one/ }).waitFor();
    await page.locator(".shell:not([hidden]) .xterm").click();
    await page.keyboard.type("echo again-$((1+1))\n");
    await page.locator(".shell:not([hidden]) .xterm-rows").filter({ hasText: "again-2" }).waitFor();
    expect(wrong).toEqual([]);
  }
  await takePicture(last, "dashboard-eight-tabs");
});

test("a router that restarts waits for no page, which says since when its data is old, and goes on by itself", async () => {
  const { ip } = await serveInside({});
  const { api, kubeconfig } = await serveObjects(ip);
  const router = await startRouter(kubeconfig);
  const context = await startChromium();
  const { page } = await openTab(context, router.port);
  await openInside(page, 0);
  expect(await router.stop()).toBe(0);
  await page.getByRole("alert").filter({ hasText: /^Disconnected since \d\d:\d\d:\d\d; showing old data\.$/ })
    .waitFor();
  await page.getByRole("row", { name: /python-1/ }).waitFor();
  await takePicture(page, "dashboard-disconnected");
  putSandbox(api, "new-one", { pod: runningPod() });
  await startRouter(kubeconfig, router.port);
  await page.getByRole("row", { name: /new-one/ }).waitFor();
  await eventually(() => page.getByText(/Disconnected since|Not up to date/).count()).toBe(0);
  // The terminal has a connection of its own. What is typed before it is back gets lost, maybe half a line: Ctrl-C ends it.
  await eventually(async () => {
    await page.keyboard.press("Control+c");
    await page.keyboard.type("echo again-$((1+1))\n");
    return page.locator(".shell:not([hidden]) .xterm-rows").filter({ hasText: "again-2" }).count();
  }).toBe(1);
  expect(page.url()).toContain(PANEL);
});

test("an expired token: the page asks for another, and comes back to the same place", async () => {
  const { kubeconfig } = await serveObjects();
  const { port } = await startRouter(kubeconfig);
  const context = await startChromium();
  const expiring = tokenOf("ada@example.com", "", Math.floor(Date.now() / 1000) + 8);
  const { page } = await openTab(context, port, PANEL, expiring);
  await page.getByRole("alert").filter({ hasText: "The token is invalid or has expired." }).waitFor();
  expect(page.url()).toContain(PANEL);
  await takePicture(page, "dashboard-signin");
  await page.getByLabel("Token").fill(tokenOf("eve@example.com"));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "python-1" }).waitFor();
  await page.getByText("eve@example.com").waitFor();
});

test("a network that swallows everything: the page notices, and goes on when it is back", async () => {
  const { api, kubeconfig } = await serveObjects();
  const { port } = await startRouter(kubeconfig);
  let isSilent = false;
  const proxy = createNetServer((near) => {
    const far = connect(port, "127.0.0.1");
    const pass = (from: Socket, to: Socket) =>
      from.on("data", (chunk) => isSilent || to.write(chunk)).on("error", () => {}).on("close", () => to.destroy());
    pass(near, far);
    pass(far, near);
  });
  const front = await listenOn(proxy as never, "127.0.0.1", 0);
  onTestFinished(() => void proxy.close());
  const context = await startChromium();
  const { page } = await openTab(context, front);
  isSilent = true;
  await page.getByRole("alert").filter({ hasText: /^Disconnected since/ }).waitFor();
  putSandbox(api, "new-one", { pod: runningPod() });
  isSilent = false;
  await page.getByRole("row", { name: /new-one/ }).waitFor();
  await eventually(() => page.getByText(/Disconnected since/).count()).toBe(0);
});

test("a login lasts as long as its tab if the operator allows it, and signing out ends it", async () => {
  const { kubeconfig } = await serveObjects();
  const flags = ["--dashboard-token-storage", "session", "--dashboard-cluster-name", "staging"];
  const { port } = await startRouter(kubeconfig, 0, ...flags);
  const context = await startChromium();
  const { page, wrong } = await openTab(context, port);
  await page.reload();
  await page.getByRole("heading", { name: "python-1" }).waitFor();
  await page.locator("header").getByText("staging").waitFor();
  await takePicture(page, "dashboard-header");
  await page.setViewportSize({ width: 375, height: 700 });
  await page.emulateMedia({ colorScheme: "light" });
  await takePicture(page, "dashboard-header-phone");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("Cluster staging").waitFor();
  await page.reload();
  await page.getByLabel("Token").waitFor();
  const other = await context.newPage();
  await other.goto(page.url());
  await other.getByLabel("Token").waitFor();
  expect(wrong).toEqual([]);
});

test("behind a proxy that signs users in, the page asks for no token, uses newer ones, and says when the sign-in ends", async () => {
  const { kubeconfig } = await serveObjects();
  const { port } = await startRouter(kubeconfig);
  const provider = await startSignInProxy(port);
  const context = await startChromium();
  const page = await newTab(context);
  await page.goto(`http://127.0.0.1:${provider.port}/.hookbox/${PANEL}`);
  await page.getByRole("link", { name: "Sign in with the provider" }).click();
  await page.getByText("ada@example.com").waitFor();
  await page.getByRole("row", { name: /python-1/ }).waitFor();
  expect(await page.getByRole("button", { name: "Sign out" }).count()).toBe(0);
  const before = provider.issued();
  await eventually(() => provider.issued()).toBeGreaterThan(before + 1);
  await page.getByRole("row", { name: /python-1/ }).waitFor();
  expect(await page.getByText(/Sign in|sign-in has ended/).count()).toBe(0);
  // Now the proxy answers each request with its sign-in page.
  await context.clearCookies();
  await page.getByRole("alert").filter({ hasText: "Your sign-in has ended. Reload the page to sign in again." })
    .waitFor();
});

/**
 * Plays oauth2-proxy with a provider: signs in by a cookie, and adds `Authorization` with an ID token to each request,
 * WebSockets included. A token lives for six seconds.
 */
async function startSignInProxy(router: number) {
  let issued = 0;
  const authorization = () =>
    `Bearer ${tokenOf("ada@example.com", String(++issued), Math.floor(Date.now() / 1000) + 6)}`;
  const isSignedIn = ({ headers }: IncomingMessage) => headers.cookie?.includes("session=1") === true;
  const server = createServer((incoming, response) => {
    if (incoming.url === "/oauth2/sign_in") {
      return void response.writeHead(302, {
        "Set-Cookie": "session=1; Path=/; HttpOnly; SameSite=Lax",
        Location: "/.hookbox/",
      })
        .end();
    }
    if (!isSignedIn(incoming)) {
      response.writeHead(403, { "Content-Type": "text/html" });
      return void response.end('<a href="/oauth2/sign_in">Sign in with the provider</a>');
    }
    const { url, method, headers } = incoming;
    const options = {
      port: router,
      path: url ?? "/",
      method: method ?? "GET",
      headers: { ...headers, authorization: authorization() },
    };
    const outgoing = httpRequest(options, (come) => {
      response.writeHead(come.statusCode ?? 502, come.headers).flushHeaders();
      come.pipe(response);
    });
    response.once("close", () => outgoing.destroy());
    outgoing.on("error", () => response.destroy());
    incoming.pipe(outgoing);
  });
  server.on("upgrade", (incoming: IncomingMessage, near: Socket) => {
    if (!isSignedIn(incoming)) return void near.destroy();
    const far = connect(router, "127.0.0.1");
    const lines = Object.entries({ ...incoming.headers, authorization: authorization() });
    far.write(`GET ${incoming.url} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`);
    near.pipe(far).on("error", () => near.destroy()).on("close", () => near.destroy());
    far.pipe(near).on("error", () => far.destroy()).on("close", () => far.destroy());
  });
  const port = await listenOn(server, "127.0.0.1", 0);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port, issued: () => issued };
}
