/** A person who has signed in to the dashboard, for tests. @module */
import { join } from "node:path";
import process from "node:process";
import type { Page } from "playwright-core";
import { onTestFinished } from "vitest";
import { suite } from "../integration/suite.ts";
import { followErrors, startChromium } from "./chromium.ts";

export const say = (line: string): void => void process.stdout.write(`browser: ${line}\n`);

/** A page, and what the browser has found wrong: errors of scripts, and what the page's policy forbids. */
export interface Shown {
  page: Page;
  wrong: readonly string[];
  /** Takes a picture for whoever looks: it lies beside the logs, which HOOKBOX_TEST_LOGS keeps. */
  picture(name: string): Promise<void>;
}

/**
 * Opens a dashboard; the browser goes with the test.
 *
 * @param chromium path of the program
 */
export async function signIn(chromium: string, url: string, token: string): Promise<Shown> {
  const context = await startChromium(chromium);
  const page = await context.newPage();
  const wrong = followErrors(page);
  await page.goto(url);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  const picture = async (name: string) =>
    void await page.screenshot({ path: join(suite.logs, `dashboard-${name}.png`) });
  onTestFinished(async ({ task }) => {
    if (task.result?.state !== "fail") return;
    await picture("failed");
    say(`the page says: ${[...wrong, await page.locator("body").innerText()].join("\n")}`);
  });
  return { page, wrong, picture };
}
