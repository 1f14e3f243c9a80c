/** What asks hookbox's runtime to start a command. Sends nothing. @module */
import { envOf } from "../env.ts";
import { InvalidArgumentError } from "../errors.ts";
import { argvOf, wordsFor } from "./argv.ts";
import type { CommandOptions, RunOptions } from "./types.ts";

/** Makes the request; its id is what lets it be sent again. @throws {InvalidArgumentError} if the command is empty */
export function requestOf(
  command: string | string[],
  options: CommandOptions & Pick<RunOptions, "stdin">,
) {
  const { cwd, timeoutMs, stdin } = options;
  const argv = argvOf(command);
  if (argv.length === 0 || command === "") throw new InvalidArgumentError("Cannot run a command: it is empty");
  if (timeoutMs !== undefined && !(timeoutMs > 0)) {
    throw new InvalidArgumentError(`Cannot run ${wordsFor(command)}: timeoutMs ${timeoutMs} is not above 0`);
  }
  return {
    config: { command: argv, envVars: envOf(options), ...cwd === undefined ? {} : { cwd } },
    requestId: crypto.randomUUID(),
    stdin: stdin !== undefined,
    ...timeoutMs === undefined ? {} : { timeoutMs: BigInt(Math.ceil(timeoutMs)) },
  };
}
