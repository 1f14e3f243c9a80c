/** `hookbox suspend`. @module */
import { Command } from "commander";
import { optionsOf, withCluster } from "../clusteroptions.ts";
import { spinning } from "../terminal/spinner.ts";
import type { World } from "../world.ts";

export function suspendCommand(world: World): Command {
  const command = new Command("suspend")
    .description("Suspend sandboxes: Pods go, names and volumes stay")
    .argument("<sandboxes...>", "names of claims or Sandboxes")
    .action(async (names: string[]) => {
      const { client } = await world.enter(optionsOf(command));
      for (const name of names) {
        await spinning(world, `Waiting for ${name}`, () => client.suspend(name, { signal: world.signal }));
        world.stdout.write(`${name} suspended\n`);
      }
    });
  return withCluster(command);
}
