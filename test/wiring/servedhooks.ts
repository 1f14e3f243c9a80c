/** Serves hooks in the process of a test. @module */
import { onTestFinished, vi } from "vitest";
import { settingsOf } from "../hooksettings.ts";
import type { HookCalls } from "../../packages/webhook/hook.ts";
import { serveHooks } from "../../packages/webhook/runhook.ts";

/** Flags of a hook that listens on a free port of this machine. */
export const LOCAL = ["--host", "127.0.0.1", "--port", "0", "--log-level", "error"];

/** Serves hooks as their main.ts does, with what `flags` say; `errors` grows with their log. */
export async function serve(hooks: HookCalls[], onlyOne: boolean, ...flags: string[]) {
  const errors: Record<string, unknown>[] = [];
  const written = vi.spyOn(console, "error").mockImplementation((line) => void errors.push(JSON.parse(line)));
  const server = await serveHooks(hooks, settingsOf(...LOCAL, ...flags), onlyOne);
  onTestFinished(() => server.stop().then(() => written.mockRestore()));
  return { ...server, errors };
}
