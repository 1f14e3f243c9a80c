/** The page about options: every option of every process, and since when there is which. @module */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { flagsPage } from "../../../dev/docs/reference.ts";
import { CONVERSION } from "../../../hooks/conversion/options.ts";
import { PROGRAMS } from "../../../packages/cli/commands/processes.ts";
import { DURATION, flag, type Program, section, SWITCH, TEXT } from "../../../packages/process/flags.ts";

const since = "0.1.0";
const EXAMPLE: Program = {
  name: "example",
  about: "Serves <things>.",
  flags: {
    root: flag(TEXT, { help: "a | b", since, default: "/x", env: "ROOT", placeholder: "DIR", aliases: ["root-dir"] }),
    ...section("Times", {
      "wake-timeout": flag(DURATION, { help: "longest wait", since: "0.2.0", default: "2m" }),
      wake: flag(SWITCH, { help: "wake nothing", since, default: "true", needs: ["root"] }),
      identity: flag(TEXT, { help: "its name", since, placeholder: "I", otherwise: "the Pod's" }),
    }),
  },
  gone: { colour: { since: "0.3.0", why: "as nothing is <shown>" } },
};

test("flagsPage() has a row for each option: how it is typed, its type, default and first release", () => {
  const page = flagsPage([EXAMPLE]);
  expect(page).toContain("## example\n\nServes \\<things>.\n\n| option |");
  expect(page.split("\n").filter((line) => line.startsWith("| `"))).toEqual([
    "| `--root DIR` | text | the variable ROOT, or /x | 0.1.0 | a \\| b; also --root-dir |",
    "| `--wake-timeout D` | duration | `2m` | 0.2.0 | longest wait |",
    "| `--no-wake` | switch |  | 0.1.0 | wake nothing; needs --root |",
    "| `--identity I` | text | the Pod's | 0.1.0 | its name |",
  ]);
  expect(page).toContain("### Times\n");
  expect(page.trimEnd().split("\n").at(-1)).toBe("`--colour` is gone since 0.3.0, as nothing is \\<shown>.");
});

const programs: Program[] = [...await Promise.all(Object.values(PROGRAMS).map((load) => load())), CONVERSION];

test("every option says since which release it is there: one of the changelog, or the next", () => {
  const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
  const released = [...read("CHANGELOG.md").matchAll(/^## (\d+\.\d+\.\d+)/gm)].map(([, version]) => version);
  const all = new Set(
    programs.flatMap(({ flags, gone = {} }) =>
      [...Object.values(flags), ...Object.values(gone)].map((each) => each.since)
    ),
  );
  const unreleased = [...all].filter((version) => !released.includes(version));
  expect(released).toContain("0.1.0");
  expect(unreleased.length).toBeLessThanOrEqual(1);
  for (const version of unreleased) expect(version.localeCompare(released[0] ?? "", "en", { numeric: true })).toBe(1);
});

test("every default is a value of its option, and what an option needs is there", () => {
  for (const { flags, gone = {} } of programs) {
    for (const name of Object.keys(gone)) expect(flags).not.toHaveProperty(name);
    for (const [name, { type, default: preset, needs = [] }] of Object.entries(flags)) {
      const refuse = () => {
        throw new RangeError(`the default of --${name} is none`);
      };
      if (preset !== undefined) type.read(preset, refuse);
      for (const needed of needs) expect(Object.keys(flags)).toContain(needed);
    }
  }
});
