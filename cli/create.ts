/** Makes a sandbox for `hookbox create` and prints what there is then. @module */
import type { KubeObject } from "../lib/objects.ts";
import { create } from "../sdk/control/create.ts";
import type { Target } from "../sdk/control/target.ts";
import type { CreateOptions } from "../sdk/options.ts";
import { CLAIM, SANDBOX } from "./cluster/kinds.ts";
import { getObject } from "./cluster/objects.ts";
import { createSandbox } from "./sandbox.ts";
import { type Format, serialize } from "./output/print.ts";
import type { Where, World } from "./world.ts";

/** How. */
export interface CreateRequest {
  wait: boolean;
  format: Format | undefined;
}

/** Makes it. @throws {SandboxError} if it cannot be made, or does not become Ready */
export async function runCreate(
  world: World,
  where: Where,
  options: CreateOptions,
  { wait, format }: CreateRequest,
): Promise<void> {
  const { api, namespace } = await world.reach(where);
  let made: Omit<Target, "kind">;
  if (wait) {
    const handle = await createSandbox(world, await world.enter(where), { ...options, namespace });
    await handle.disconnect();
    made = handle;
  } else {
    made = (await create(api, namespace, { ...options, signal: world.signal }, world.now())).target;
  }
  const kind = options.image === undefined ? CLAIM : SANDBOX;
  if (format === undefined) return world.stdout.write(`${made.name}\n`);
  if (format === "name") return world.stdout.write(`${kind.qualified}/${made.name}\n`);
  const object: KubeObject = await getObject(api, kind, namespace, made.name);
  world.stdout.write(await serialize(object, format === "json" ? "json" : "yaml"));
}
