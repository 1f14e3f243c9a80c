/** `hookbox dashboard` in a real browser: what it prints opens the page, signed in. @module */
import { createServer } from "node:http";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { listenOn } from "../../packages/process/connections.ts";
import { until } from "../eventually.ts";
import { serveApi } from "../kube/servedapi.ts";
import { startMain } from "../mainprocess.ts";
import { startRouterMain } from "../wiring/routerprocess.ts";
import { followErrors, startChromium, takePicture } from "./chromium.ts";
import { buildPage, putSandbox, runningPod } from "./inmemory.ts";

beforeAll(buildPage);

/** Runs the command against a router of its own. */
async function start() {
  const { api, kubeconfig } = await serveApi();
  putSandbox(api, "mine", { pod: runningPod() });
  putSandbox(api, "other", { namespace: "team-b", pod: runningPod() });
  const { port } = await startRouterMain(kubeconfig, "--authz-mode", "allow-all");
  const review = { status: { userInfo: { username: "someone" } } };
  api.intercept = ({ path }) => path.endsWith("/selfsubjectreviews") ? { status: 201, body: review } : undefined;
  const where = ["--router", `http://127.0.0.1:${port}`, "--kubeconfig", kubeconfig];
  const args = ["packages/cli/main.ts", "dashboard", "-n", "team-a", ...where];
  const command = await startMain("node", args, undefined);
  await until(() => command.log().includes("Ctrl-C") || command.child.exitCode !== null);
  return { api, command };
}

test("shows the sandboxes of the namespace, live, without a sign-in; a reload stays signed in", async () => {
  const { api, command } = await start();
  const context = await startChromium();
  const page = await context.newPage();
  const wrong = followErrors(page);
  await page.goto(command.output().trim());
  await page.getByRole("row", { name: /^mine Running/ }).waitFor();
  expect(new URL(page.url())).toMatchObject({
    pathname: expect.stringMatching(/^\/[\w-]{43}\/\.hookbox\/$/),
    search: "",
    hash: "#/sandboxes?namespace=team-a",
  });
  await page.getByText("someone", { exact: true }).waitFor();
  expect(await page.getByRole("row", { name: /^other/ }).count()).toBe(0);
  putSandbox(api, "later", { pod: runningPod() });
  await page.getByRole("row", { name: /^later Running/ }).waitFor();
  await takePicture(page, "dashboard-command");
  await page.reload();
  await page.getByRole("row", { name: /^mine Running/ }).waitFor();
  // No token is anywhere in the page, and its script cannot read the cookie.
  expect(await page.evaluate("document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage })")).toBe("{}");
  expect(wrong).toEqual([]);
  const elsewhere = await startServer("elsewhere");
  await page.goto(`${elsewhere.url}/.hookbox/`);
  expect(elsewhere.cookies).toEqual([undefined]);
  const stranger = await (await startChromium()).newPage();
  await stranger.goto(command.output().trim());
  await stranger.getByText("Only the browser that opened the URL first").waitFor();
  expect(await command.stop()).toBe(0);
});

test("a link in a page of another site opens the dashboard, and opens it again", async () => {
  const { command } = await start();
  const chat = await startServer(`<a href="${command.output().trim()}">open</a>`);
  const page = await (await startChromium()).newPage();
  for (const _ of ["first", "again"]) {
    await page.goto(chat.url.replace("127.0.0.1", "localhost"));
    await page.getByText("open").click();
    await page.getByRole("row", { name: /^mine Running/ }).waitFor();
    expect(new URL(page.url())).toMatchObject({ search: "", hash: "#/sandboxes?namespace=team-a" });
  }
});

/** A program on another port of this machine: the cookies of requests for its page. */
async function startServer(html: string) {
  const cookies: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    if (request.url !== "/favicon.ico") cookies.push(request.headers.cookie);
    response.writeHead(200, { "Content-Type": "text/html" }).end(html);
  });
  const port = await listenOn(server, "127.0.0.1", 0);
  onTestFinished(() => void (server.closeAllConnections(), server.close()));
  return { url: `http://127.0.0.1:${port}`, cookies };
}
