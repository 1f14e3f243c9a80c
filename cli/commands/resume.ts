/** `hookbox resume`. @module */
import { Command } from "commander";
import { optionsOf, withCluster } from "../clusteroptions.ts";
import { spinning } from "../terminal/spinner.ts";
import type { World } from "../world.ts";

export function resumeCommand(world: World): Command {
  const command = new Command("resume")
    .description("Resume sandboxes, and wait until they are ready")
    .argument("<sandboxes...>", "names of claims or Sandboxes")
    .action(async (names: string[]) => {
      const { client } = await world.enter(optionsOf(command));
      for (const name of names) {
        await spinning(world, `Waiting for ${name}`, () => client.resume(name, { signal: world.signal }));
        world.stdout.write(`${name} resumed\n`);
      }
    });
  return withCluster(command);
}
