/** Makes and opens sandboxes while telling how far they are. @module */
import type { CreateOptions, Progress } from "../sdk/options.ts";
import type { SandboxHandle } from "../sdk/sandbox.ts";
import { humanDuration } from "./output/age.ts";
import { spinning } from "./terminal/spinner.ts";
import type { Door, World } from "./world.ts";

/** Makes it and waits until it is Ready. @throws {SandboxError} if it does not become Ready; it is then deleted */
export async function createSandbox(world: World, { client }: Door, options: CreateOptions): Promise<SandboxHandle> {
  return await spinning(world, "Creating a sandbox", async (spinner) => {
    const onProgress = (progress: Progress) => spinner.say(wordsFor(progress));
    return await client.create({ ...options, signal: world.signal, onProgress });
  });
}

/** Opens a sandbox, which wakes where it is suspended. @throws {SandboxError} if there is none, or it does not wake */
export async function openSandbox(world: World, { client }: Door, name: string): Promise<SandboxHandle> {
  return await spinning(world, `Connecting to ${name}`, async (spinner) => {
    const onProgress = (progress: Progress) => spinner.say(wordsFor(progress));
    return await client.connect(name, { signal: world.signal, onProgress });
  });
}

/** Says how far it is. */
export function wordsFor({ reason, message, elapsedMs }: Progress): string {
  const why = [reason, message].filter(Boolean).join(": ");
  return `Waiting for ${humanDuration(elapsedMs)}${why && `: ${why}`}`;
}
