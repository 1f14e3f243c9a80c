/** Creates and opens sandboxes, and shows the progress. @module */
import type { CreateOptions, Progress } from "../sdk/options.ts";
import type { SandboxHandle } from "../sdk/sandbox.ts";
import { humanDuration } from "../summary/age.ts";
import type { CommandContext, Connection } from "./commandcontext.ts";
import { spinning } from "./terminal.ts";

/**
 * Creates a sandbox and waits until it is Ready.
 *
 * @throws {SandboxError} if it does not become Ready; it is then deleted
 */
export async function createSandbox(
  context: CommandContext,
  { client }: Connection,
  options: CreateOptions,
): Promise<SandboxHandle> {
  return await spinning(context, "Creating a sandbox", async (spinner) => {
    const onProgress = (progress: Progress) => spinner.setText(wordsFor(progress));
    return await client.create({ ...options, signal: context.signal, onProgress });
  });
}

/**
 * Opens a sandbox; resumes it if it is suspended.
 *
 * @throws {SandboxError} if it does not exist, or does not become Ready
 */
export async function openSandbox(
  context: CommandContext,
  { client }: Connection,
  name: string,
): Promise<SandboxHandle> {
  return await spinning(context, `Connecting to ${name}`, async (spinner) => {
    const onProgress = (progress: Progress) => spinner.setText(wordsFor(progress));
    return await client.connect(name, { signal: context.signal, onProgress });
  });
}

/** Returns a text with the progress and the time so far. The time is computed whenever the text is written. */
export function wordsFor({ reason, message, elapsedMs }: Progress): () => string {
  const why = [reason, message].filter(Boolean).join(": ");
  const begun = performance.now() - elapsedMs;
  return () => `Waiting for ${humanDuration(performance.now() - begun)}${why && `: ${why}`}`;
}
