/** The router's terminal page in a real browser: our runtime in a Pod, our router, and Chromium. @module */
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { makeNamespace, type Namespace } from "../integration/namespace.ts";
import { startRouter } from "../node/router.ts";
import { aRuntime, needsRuntime } from "../node/runtimepods.ts";
import { followErrors, startChromium, takePicture } from "./chromium.ts";
import { hasRealNode } from "../integration/suite.ts";
import { PATIENCE_MS } from "../patience.ts";

/** A page that shows a terminal, and what a test does with it. */
interface Shown {
  page: Page;
  /** What the browser has found wrong: errors of scripts, and what the page's policy forbids. */
  wrong: readonly string[];
  /** Types a line and Enter. */
  enter(line: string): Promise<void>;
  /** Waits until the terminal shows it. */
  see(wanted: RegExp): Promise<void>;
  /** Waits until the line above the terminal says it. */
  hear(wanted: RegExp): Promise<void>;
  /** See {@link takePicture}. */
  picture(name: string): Promise<void>;
}

async function show(url: string): Promise<Shown> {
  const context = await startChromium();
  const page = await context.newPage();
  page.on("dialog", (dialog) => void dialog.accept());
  const wrong = followErrors(page);
  await page.goto(url);
  const until = (text: () => Promise<string>, wanted: RegExp) =>
    vi.waitFor(async () => expect(await text(), wrong.join("\n")).toMatch(wanted), {
      timeout: PATIENCE_MS,
      interval: 100,
    });
  return {
    page,
    wrong,
    async enter(line) {
      await page.keyboard.type(line);
      await page.keyboard.press("Enter");
    },
    see: (wanted) => until(async () => (await page.locator(".xterm-rows > div").allTextContents()).join("\n"), wanted),
    hear: (wanted) => until(() => page.locator("#status").innerText(), wanted),
    picture: (name) => takePicture(page, name),
  };
}

/** Starts a Sandbox with the runtime, and a router; returns where its terminal is. */
async function startSandbox(): Promise<{ ns: Namespace; url: string }> {
  const ns = await makeNamespace();
  await ns.apply(aRuntime("shell"));
  const { url } = await startRouter("--path-routing-prefix", "/s");
  return { ns, url: `${url}/s/${ns.name}/shell/8080/.hookbox/terminal` };
}

describe.runIf(hasRealNode)("the terminal page", () => {
  beforeAll(needsRuntime);

  test("runs a shell: typing, resizing, interrupting, ending, starting anew", async () => {
    const { url } = await startSandbox();
    const { page, wrong, enter, see, hear, picture } = await show(url);
    await hear(/^Connected$/);
    expect(await page.title()).toMatch(/^t-[0-9a-f]+\/shell – terminal$/);
    await enter("echo the answer is $((6*7))");
    await see(/^the answer is 42 *$/m);
    await enter("stty size");
    await see(/^\d+ \d+ *$/m);
    await picture("dark");
    await page.setViewportSize({ width: 700, height: 400 });
    await enter('clear; until [ "$(stty size)" != "$was" ]; do :; done; echo "now $(stty size)"');
    await see(/^now 1\d [78]\d *$/m);
    // A shell that is just starting a command, or coming back from one, may lose what is typed, or take it for an end.
    await enter("sh -c 'echo asleep; exec sleep 1000'; echo slept");
    await see(/^asleep *$/m);
    await page.keyboard.press("Control+C");
    await see(/^\^C *\n.*[#$] *$/m);
    await enter("echo interrupted with $?");
    await see(/^interrupted with 130 *$/m);
    await picture("small");
    await enter("yes many | head -n 1000000 | cat -n; echo calm $((3*3))");
    await see(/^1000000\s+many *\ncalm 9 *$/m);
    await enter("exit 3");
    await hear(/^Ended with exit code 3\.$/);
    await see(/Enter opens a new terminal/);
    await picture("ended");
    await page.keyboard.press("Enter");
    await hear(/^Connected$/);
    await enter("echo again $((1+1))");
    await see(/^again 2 *$/m);
    expect(wrong).toEqual([]);
  });

  test("wakes a suspended sandbox, tells when a connection breaks, and takes it up again", async () => {
    const { ns, url } = await startSandbox();
    const { page, enter, see, hear, picture } = await show(url);
    await hear(/^Connected$/);
    await ns.patch("sandbox", "shell", { spec: { operatingMode: "Suspended" } });
    await hear(/^The connection broke\.$/);
    await ns.untilReason("shell", "SandboxSuspended");
    await picture("broken");
    expect((await ns.get("sandbox", "shell")).spec.operatingMode, "an open page wakes nothing").toBe("Suspended");
    await page.reload({ waitUntil: "commit" });
    await hear(/^Waking…/);
    await picture("waking");
    await hear(/^Connected$/);
    expect((await ns.get("sandbox", "shell")).spec.operatingMode).toBe("Running");
    await enter("echo awake $((2+3))");
    await see(/^awake 5 *$/m);
    await page.emulateMedia({ colorScheme: "light" });
    await picture("light");
  });
});
