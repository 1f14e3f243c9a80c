/** Completes a half-written command line: names from the cluster here, commands and options by @bomb.sh/tab. @module */
import tab from "@bomb.sh/tab/commander";
import { buildProgram } from "../program.ts";
import type { CommandContext } from "../commandcontext.ts";
import { needOf } from "./need.ts";

/** To the shell: no file names where these are all there is, and no space after a name that goes on. */
const NO_FILES = 4;
const NO_SPACE = 2;

/** Prints candidates, one in a line, and then what the shell is to do. @param words the last one may be empty */
export async function complete(context: CommandContext, words: string[]): Promise<void> {
  const program = buildProgram(context, false);
  const need = needOf(program, words);
  if (!need) return tab(program, { completionCommandName: "completion" }).parse([...words]);
  const { namesOf } = await import("./names.ts");
  const { prefix, suffix, what } = need;
  const names = (await namesOf(context, need)).map((name) => name + suffix).filter((name) => name.startsWith(prefix));
  // Paths of this machine are candidates of cp, too.
  const isPath = suffix !== "" && what === "sandboxes" && words[0] === "cp";
  const directive = (isPath ? 0 : NO_FILES) + (suffix === "" ? 0 : NO_SPACE);
  context.stdout.write(`${names.map((name) => `${name}\t\n`).join("")}:${directive}\n`);
}
