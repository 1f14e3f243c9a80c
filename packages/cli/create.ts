/** Creates a sandbox for `hookbox create`, and prints it. @module */
import type { KubeObject } from "../api/objects/objects.ts";
import { create } from "../sdk/control/create.ts";
import type { Target } from "../sdk/control/target.ts";
import type { CreateOptions } from "../sdk/options.ts";
import { CLAIM, SANDBOX } from "../summary/kinds.ts";
import { getObject } from "./cluster/objects.ts";
import { createSandbox } from "./sandbox.ts";
import { type Format, serialize } from "./output/print.ts";
import type { CommandContext, Where } from "./commandcontext.ts";

/** Options of the creation. */
export interface CreateRequest {
  wait: boolean;
  format: Format | undefined;
}

/** Creates the sandbox. @throws {SandboxError} if that fails, or it does not become Ready */
export async function runCreate(
  context: CommandContext,
  where: Where,
  options: CreateOptions,
  { wait, format }: CreateRequest,
): Promise<void> {
  const { api, namespace } = await context.reach(where);
  let made: Omit<Target, "kind">;
  if (wait) {
    const handle = await createSandbox(context, await context.connect(where), { ...options, namespace });
    await handle.disconnect();
    made = handle;
  } else {
    made = (await create(api, namespace, { ...options, signal: context.signal }, context.now(), {})).target;
  }
  const kind = options.image === undefined ? CLAIM : SANDBOX;
  if (format === undefined) return context.stdout.write(`${made.name}\n`);
  if (format === "name") return context.stdout.write(`${kind.qualified}/${made.name}\n`);
  const object: KubeObject = await getObject(api, kind, namespace, made.name);
  context.stdout.write(await serialize(object, format === "json" ? "json" : "yaml"));
}
