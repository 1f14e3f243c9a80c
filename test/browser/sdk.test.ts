/** The SDK in a web page: a real browser, our router, and our runtime in a Pod. @module */
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import type * as SDK from "../../packages/sdk/mod.ts";
import { makeNamespace, type Namespace } from "../integration/namespace.ts";
import { startRouter } from "../node/router.ts";
import { aRuntime, isReady, needsRuntime } from "../node/runtimepods.ts";
import { bundleSDK, ROUTER, serveApp } from "./app.ts";
import { startChromium } from "./chromium.ts";
import { hasRealNode } from "../integration/suite.ts";

let bundle: Map<string, string>;

interface App {
  ns: Namespace;
  page: Page;
  asked: string[];
}

/** Creates a Sandbox with the runtime, and opens the app in a browser. */
async function openApp(): Promise<App> {
  const ns = await makeNamespace();
  await ns.apply(aRuntime("box"));
  const router = await startRouter("--path-routing-prefix", "/s");
  const { origin, asked } = await serveApp(bundle, router.url);
  const page = await (await startChromium()).newPage();
  await page.goto(origin);
  // Not until a frame is drawn that shows it: a page nobody looks at may draw none.
  await page.evaluate("loaded");
  await ns.until("sandbox", "box", isReady);
  return { ns, page, asked };
}

/** Code of the app: what it does in the page with the SDK. */
type Work<T> = (sdk: typeof SDK, client: SDK.SandboxClient) => Promise<T>;

/** Does it. The function goes to the page as text: it sees nothing of this file. */
async function inPage<T>({ page, ns }: App, work: Work<T>): Promise<T> {
  const options = JSON.stringify({ namespace: ns.name, routerPathPrefix: "/s" });
  return await page.evaluate(`(async () => {
    const { hookbox } = globalThis;
    const routerUrl = location.origin + ${JSON.stringify(ROUTER)};
    return await (${work})(hookbox, new hookbox.SandboxClient({ ...${options}, routerUrl }));
  })()`) as T;
}

describe.runIf(hasRealNode)("the SDK in a browser", () => {
  beforeAll(async () => {
    bundle = await bundleSDK();
    await needsRuntime();
  });

  test("runs commands, tells of output, moves files, runs code, opens a terminal", async () => {
    const app = await openApp();
    const done = await inPage(app, async ({ FileNotFoundError, NotFoundError }, client) => {
      const sandbox = await client.connect("box");
      const told: string[] = [];
      const { exitCode } = await sandbox.commands.run("echo out; echo err >&2; exit 3", {
        onStdout: (text) => void told.push(`out:${text}`),
        onStderr: (text) => void told.push(`err:${text}`),
      });
      const handle = await sandbox.commands.run("read word; echo got $word; sleep 600", {
        background: true,
        stdin: true,
      });
      await handle.write("it\n");
      let heard = "";
      for await (const { text } of handle) if ((heard += text).includes("got it")) break;
      const killed = await handle.kill();
      await sandbox.files.write("folder/a.txt", "héllo");
      const text = await sandbox.files.read("folder/a.txt");
      const names = (await sandbox.files.list("folder")).map(({ name }) => name);
      // What was changed long ago a browser may take for unchanged for long.
      const aged = "touch -d '2020-01-01 00:00' folder folder/a.txt";
      const look = async () => [
        await sandbox.files.read("folder/a.txt"),
        ...(await sandbox.files.list("folder")).map(({ name }) => name),
      ];
      await sandbox.commands.run(aged);
      await look();
      await sandbox.commands.run(`echo changed > folder/a.txt; echo > folder/b.txt; ${aged}`);
      const changed = await look();
      const missing = await sandbox.files.read("none").catch((error) => error);
      let shown = "";
      const decoder = new TextDecoder();
      const terminal = await sandbox.pty.create({
        cols: 80,
        rows: 24,
        command: "stty size",
        onData: (bytes) => void (shown += decoder.decode(bytes)),
      });
      await terminal.wait();
      const { text: answer } = await sandbox.runCode("6 * 7", { language: "javascript" });
      const noCluster = await client.create({ pool: "python" }).catch((error) => error);
      const noSandbox = await (await client.connect("other")).commands.run("true").catch((error) => error);
      return {
        exitCode,
        told: told.sort(),
        heard,
        killed,
        text,
        names,
        changed,
        missing: missing instanceof FileNotFoundError && missing instanceof NotFoundError,
        shown: shown.trim(),
        answer,
        url: (await sandbox.getUrl(3000)).replace(location.origin, ""),
        noCluster: [noCluster.name, noCluster.message],
        noSandbox: [noSandbox.name, noSandbox.message],
      };
    });
    expect(done).toEqual({
      exitCode: 3,
      told: ["err:err\n", "out:out\n"],
      heard: "got it\n",
      killed: true,
      text: "héllo",
      names: ["a.txt"],
      changed: ["changed\n", "a.txt", "b.txt"],
      missing: true,
      shown: "24 80",
      answer: "42",
      url: `${ROUTER}/s/${app.ns.name}/box/3000`,
      noCluster: ["UnsupportedError", expect.stringMatching(/^Cannot find a cluster: a browser has no kubeconfig/)],
      noSandbox: ["SandboxNotFoundError", `Cannot find sandbox ${app.ns.name}/other: it does not exist`],
    });
    const forNode = /^(cluster|channels|dist|forward|exec|tar)/;
    expect([...bundle.keys()].filter((file) => forNode.test(file)).length).toBeGreaterThan(0);
    expect(app.asked.filter((file) => forNode.test(file)), "parts for Node stay away").toEqual([]);
  });

  test("wakes what is suspended, and watches a folder", async () => {
    const app = await openApp();
    await app.ns.patch("sandbox", "box", { spec: { operatingMode: "Suspended" } });
    await app.ns.untilReason("box", "SandboxSuspended");
    const events = await inPage(app, async (_, client) => {
      const sandbox = await client.connect("box");
      await sandbox.files.makeDir("folder");
      const events: string[] = [];
      for await (const event of sandbox.files.watch("folder")) {
        events.push(event.type);
        if (event.type === "ready") await sandbox.files.write("folder/new", "x");
        else break;
      }
      return events;
    });
    expect(events).toEqual(["ready", "created"]);
    expect((await app.ns.get("sandbox", "box")).spec.operatingMode).toBe("Running");
  });
});
