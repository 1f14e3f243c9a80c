/** Creates and opens sandboxes, and shows the progress. @module */
import type { CreateOptions, Progress } from "../sdk/options.ts";
import type { SandboxHandle } from "../sdk/sandbox.ts";
import { humanDuration } from "../summary/age.ts";
import type { CommandContext, Connection } from "./commandcontext.ts";
import { SandboxError } from "../sdk/errors.ts";
import { HandledError } from "./failure.ts";
import { spinning } from "./terminal.ts";

/**
 * Creates a sandbox and waits until it is Ready.
 *
 * @throws {HandledError} if it does not become Ready; it is then deleted, unless `keepFailed` is set
 */
export async function createSandbox(
  context: CommandContext,
  { client }: Connection,
  options: CreateOptions,
): Promise<SandboxHandle> {
  return await spinning(context, "Creating a sandbox", async (spinner) => {
    const onProgress = (progress: Progress) => spinner.setText(wordsFor(progress));
    try {
      return await client.create({ ...options, signal: context.signal, onProgress });
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      if (context.signal.aborted) {
        throw error.leftover ? new HandledError(context.signal.reason, error.remedy ?? error.message) : error;
      }
      const isMade = (error.code === "FAILED" || error.code === "TIMEOUT") && !isTemplateMissing(error, options);
      // The error names what is left, so the note would contradict it.
      if (!isMade || error.leftover) throw error;
      const note = options.keepFailed
        ? `It was kept. To look at it: ${context.program} get claims, ${context.program} describe NAME`
        : `What was created for it has been deleted again. ${context.program} create keeps it with --keep-failed.`;
      throw new HandledError(error, note);
    }
  });
}

/** Returns whether nothing was created, because the template of `--template` does not exist. */
function isTemplateMissing({ reason, object }: SandboxError, { template }: CreateOptions): boolean {
  return reason === "TemplateNotFound" && template !== undefined && object?.name === template;
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
