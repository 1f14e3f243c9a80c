/** Runs one command line in a context, and prints its errors. @module */
import { verdictOf } from "./failure.ts";
import { buildProgram } from "./program.ts";
import { withPlainText } from "./terminal/plain.ts";
import type { CommandContext } from "./commandcontext.ts";

/**
 * Runs a command line until its end.
 *
 * @param args without the program's name
 * @returns the exit code: 0, that of a command in a sandbox, or 1 failure, 2 usage, 124 timeout, 130 interrupted
 */
export async function runCLI(args: readonly string[], given: CommandContext): Promise<number> {
  const context = withPlainText(given);
  try {
    await buildProgram(context).parseAsync(args.length === 0 ? ["--help"] : args, { from: "user" });
    return 0;
  } catch (thrown) {
    const error = context.signal.aborted ? context.signal.reason : thrown;
    const { code, lines } = verdictOf(error);
    for (const line of lines) context.stderr.write(`${line}\n`);
    if (context.env["HOOKBOX_DEBUG"] && lines.length > 0 && thrown instanceof Error) {
      context.stderr.write(
        `${thrown.stack}\n${thrown.cause instanceof Error ? `caused by ${thrown.cause.stack}\n` : ""}`,
      );
    }
    return code;
  }
}
