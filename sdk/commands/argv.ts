/** A command as words: for whoever runs it, and for people. Knows no wire. @module */
import { envOf } from "../env.ts";
import type { CommandOptions } from "./types.ts";

/** Returns the words that run it; a string is a shell's. */
export function argvOf(command: string | string[]): string[] {
  return typeof command === "string" ? ["/bin/sh", "-c", command] : command;
}

/** The same where nothing else can choose the folder or set variables: a shell does the one, `env` the other. */
export function wrappedArgvOf(
  command: string | string[],
  { cwd, ...options }: Pick<CommandOptions, "cwd" | "env" | "envs">,
): string[] {
  const argv = argvOf(command);
  const variables = Object.entries(envOf(options)).map(([name, value]) => `${name}=${value}`);
  const withEnv = variables.length > 0 ? ["env", ...variables, ...argv] : argv;
  return cwd === undefined ? withEnv : ["/bin/sh", "-c", 'cd "$0" && exec "$@"', cwd, ...withEnv];
}

/** Names a command for errors: its first words, in quotes. */
export function wordsFor(command: string | string[]): string {
  const text = typeof command === "string" ? command : command.join(" ");
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}…` : text);
}
