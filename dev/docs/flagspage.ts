/** Generates the page about the options of processes from their tables. @module */
import { extrasOf, termOf, unsetOf } from "../../packages/process/flaghelp.ts";
import type { Flag, Program } from "../../packages/process/flags.ts";
import { cell } from "./api.ts";

const INTRO = `What each process takes on its command line: \`--name value\` or \`--name=value\`. If an option is given
twice, the last one counts. \`--help\` shows the same table.

- A switch has no value. \`--x\` turns it on, and \`--no-x\` or \`--x=false\` turns it off. One that is on by default is
  listed as \`--no-x\`.
- A duration is written as \`200ms\`, \`30s\`, \`5m\`, \`1h30m\`, or as a number of seconds.
- A size is a number of bytes, or a number with \`Ki\`, \`Mi\` or \`Gi\`.
- A list has commas between its words.
- "Since" is the first release with the option.`;

/** Returns the page as Markdown. */
export function flagsPage(programs: readonly Program[]): string {
  return `${["# Options of the processes", INTRO, ...programs.map(part)].join("\n\n")}\n`;
}

function part({ name, about, flags, gone = {} }: Program): string {
  const sections = [...Map.groupBy(Object.entries(flags), ([, { section = "" }]) => section)];
  const tables = sections.map(([heading, entries]) => {
    const rows = entries.map(([flag, each]) => row(flag, each));
    const table = ["| option | value | default | since | meaning |", "| --- | --- | --- | --- | --- |", ...rows].join(
      "\n",
    );
    return heading === "" ? table : `### ${heading}\n\n${table}`;
  });
  const left = Object.entries(gone).map(([flag, { since, why }]) =>
    `\`--${flag}\` is gone since ${since}, ${cell(why)}.`
  );
  return [`## ${name}`, cell(about), ...tables, ...left].join("\n\n");
}

function row(name: string, flag: Flag): string {
  const { type, since, help } = flag;
  const preset = unsetOf(flag);
  const isTyped = flag.otherwise === undefined && flag.env === undefined && preset !== "";
  const cells = [
    `\`${termOf(name, flag)}\``,
    cell(type.name),
    isTyped ? `\`${preset}\`` : cell(preset),
    since,
    `${cell(help)}${extrasOf(flag)}`,
  ];
  return `| ${cells.join(" | ")} |`;
}
