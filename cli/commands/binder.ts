/** `hookbox binder`: the binder. Takes the arguments of binder/main.ts. @module */
import type { Command } from "commander";
import { becoming } from "../become.ts";
import type { World } from "../world.ts";

export function binderCommand(world: World): Command {
  return becoming(world, {
    name: "binder",
    description: "Run the binder apart from the keeper: it gives claims their Sandboxes",
    usage: "[options]",
    help: async () => (await import("../../binder/options.ts")).HELP,
    load: () => import("../../binder/main.ts"),
  });
}
