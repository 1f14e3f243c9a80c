/** Completes a command line: names from the cluster here, commands and options by @bomb.sh/tab. @module */
import tab from "@bomb.sh/tab/commander";
import { buildProgram } from "../program.ts";
import type { CommandContext } from "../commandcontext.ts";
import { needOf } from "./need.ts";

/** Directives to the shell: do not complete file names; add no space after the name. */
const NO_FILES = 4;
const NO_SPACE = 2;

/** Prints one candidate per line, then the directive for the shell. @param words the last one may be empty */
export async function complete(context: CommandContext, words: string[]): Promise<void> {
  const program = buildProgram(context, false);
  const need = needOf(program, words);
  if (!need) return tab(program, { completionCommandName: "completion" }).parse([...words]);
  const { namesOf } = await import("./names.ts");
  const { prefix, suffix, what } = need;
  const names = (await namesOf(context, need)).map((name) => name + suffix).filter((name) => name.startsWith(prefix));
  // For cp, paths on this machine are candidates, too.
  const isPath = suffix !== "" && what === "sandboxes" && words[0] === "cp";
  const directive = (isPath ? 0 : NO_FILES) + (suffix === "" ? 0 : NO_SPACE);
  context.stdout.write(`${names.map((name) => `${name}\t\n`).join("")}:${directive}\n`);
}
