/** Runs one command line in a world and says what went wrong in it. Ends no process. @module */
import { verdictOf } from "./failure.ts";
import { buildProgram } from "./program.ts";
import type { World } from "./world.ts";

/**
 * Runs a command line to its end.
 *
 * @param args without the program's name
 * @returns the exit code: 0, that of a command in a sandbox, or 1 failed, 2 usage, 124 timeout, 130 interrupted
 */
export async function runCLI(args: readonly string[], world: World): Promise<number> {
  try {
    await buildProgram(world).parseAsync(args.length === 0 ? ["--help"] : args, { from: "user" });
    return 0;
  } catch (thrown) {
    const error = world.signal.aborted ? world.signal.reason : thrown;
    const { code, lines } = verdictOf(error);
    for (const line of lines) world.stderr.write(`${line}\n`);
    if (world.env["HOOKBOX_DEBUG"] && lines.length > 0 && thrown instanceof Error) {
      world.stderr.write(
        `${thrown.stack}\n${thrown.cause instanceof Error ? `caused by ${thrown.cause.stack}\n` : ""}`,
      );
    }
    return code;
  }
}
