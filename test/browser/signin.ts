/** Signs in to the dashboard in a real browser. @module */
import type { Page } from "playwright-core";
import { onTestFinished } from "vitest";
import { followErrors, say, startChromium, takePicture } from "./chromium.ts";

/** A dashboard whose user has signed in. */
export interface Shown {
  page: Page;
  /** What the browser has found wrong: errors of scripts, and what the page's policy forbids. */
  wrong: readonly string[];
  /** See {@link takePicture}. */
  picture(name: string): Promise<void>;
}

/**
 * Opens a dashboard and signs in. The browser is closed when the test ends.
 *
 * @param flags of the browser
 */
export async function signIn(url: string, token: string, ...flags: string[]): Promise<Shown> {
  const context = await startChromium(...flags);
  const page = await context.newPage();
  const wrong = followErrors(page);
  await page.goto(url);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  const picture = (name: string) => takePicture(page, `dashboard-${name}`);
  onTestFinished(async ({ task }) => {
    if (task.result?.state !== "fail") return;
    await picture("failed");
    say(`the page says: ${[...wrong, await page.locator("body").innerText()].join("\n")}`);
  });
  return { page, wrong, picture };
}
