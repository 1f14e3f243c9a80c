/** A Chromium without a window for tests: Debian's, installed where there is none and this process may. Opens no page. @module */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { onTestFinished } from "vitest";
import { withLock } from "../../dev/cluster/lock.ts";
import { installDebian } from "../installdebian.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { PATIENCE_MS } from "../patience.ts";

const NAMES = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];
const DEBIANS = "/usr/bin/chromium";
/** It talks to nobody but the pages' servers, and needs nothing that a container may lack. */
const FLAGS = [
  "--disable-gpu",
  "--disable-quic",
  "--disable-dev-shm-usage",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Reports the progress of browser tests. */
export const say = (line: string): void => void process.stdout.write(`browser: ${line}\n`);

/**
 * Finds a Chromium, installing Debian's on the first call on a machine.
 *
 * @returns path of the program
 * @throws {Error} one clear sentence if there is none and none can be installed
 */
async function findChromium(): Promise<string> {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const find = () =>
    [...folders.flatMap((folder) => NAMES.map((name) => join(folder, name))), DEBIANS].find((path) => existsSync(path));
  const found = find();
  if (found !== undefined) return found;
  const onWait = () => say("waiting for another run that installs Chromium …");
  const failed = await withLock("install chromium", () => {
    return Promise.resolve(find() ? undefined : installDebian(["chromium"], "the browser tests", say));
  }, { onWait });
  const installed = find();
  if (installed !== undefined) return installed;
  throw new Error(`Cannot test in a browser: there is no Chromium; ${failed ?? `${DEBIANS} is still not there`}`);
}

/**
 * Starts Chromium with an empty profile; both go with the test.
 *
 * @param flags in addition to those that all tests use
 * @throws {Error} one clear sentence if there is none and none can be installed
 */
export async function startChromium(...flags: string[]): Promise<BrowserContext> {
  const profile = makeTempFolder();
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: await findChromium(),
    headless: true,
    // Its own sandbox does not work for root.
    chromiumSandbox: process.getuid?.() !== 0,
    args: [...FLAGS, ...flags],
    viewport: { width: 1000, height: 600 },
    colorScheme: "dark",
    timeout: PATIENCE_MS,
  });
  context.setDefaultTimeout(PATIENCE_MS);
  onTestFinished(() => context.close());
  return context;
}

/** Returns what the browser finds wrong from now on: errors of scripts, and what it cannot load or the page's policy forbids. */
export function followErrors(page: Page): readonly string[] {
  const wrong: string[] = [];
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") wrong.push(`${message.text()} (${message.location().url})`);
  });
  return wrong;
}

/** Saves a screenshot as `<name>.png` in the folder that HOOKBOX_TEST_LOGS names; without that variable there is none. */
export async function takePicture(page: Page, name: string): Promise<void> {
  const folder = process.env["HOOKBOX_TEST_LOGS"];
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`) });
}
