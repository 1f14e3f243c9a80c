/** Every command of E2B's published command line, and what hookbox makes of it: the rows of docs/e2b.md. @module */
import { spawn, type SpawnOptions } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { npmPackages } from "../npmpackages.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { differenceOf, type Outcome, sentenceOf } from "./e2bmethods.ts";

const MANIFEST = fileURLToPath(new URL("e2bcli.json", import.meta.url));
/** Runs a program in a terminal, whose input and output are those of this one. */
const TERMINAL = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) != 0)";

/** What a command does on hookbox. */
export interface CommandOutcome extends Omit<Outcome, "method" | "result"> {
  command: string;
  result: Outcome["result"] | "unused";
}

/** What the cases share. */
interface Scene {
  /** Runs a command, and returns what it printed. */
  e2b: (...args: string[]) => Promise<string>;
  /** Runs a command in a terminal, types lines once a prompt is there, and returns what the terminal showed. */
  typed: (text: string, ...args: string[]) => Promise<string>;
  /** The sandbox that the first case creates, and the last one ends. */
  id: string;
}

type Case = (scene: Scene) => Promise<unknown>;

const ABOUT_LOGIN = "only about a login at E2B, which hookbox does not use: set E2B_API_KEY";
const ONLY_FILES = "only writes files: hookbox builds no templates";
const DIFFERENCES: Record<string, string | undefined> = {
  "auth info": ABOUT_LOGIN,
  "auth logout": ABOUT_LOGIN,
  "auth configure": ABOUT_LOGIN,
  "sandbox pause": differenceOf("sandbox.pause"),
  "sandbox metrics": differenceOf("sandbox.getMetrics"),
  "template init": ONLY_FILES,
  "template migrate": ONLY_FILES,
};
/** It signs in at E2B in a browser, so the test does not run it. */
const UNUSED = { "auth login": "signs in at E2B, which hookbox does not need: set E2B_API_KEY" };

/** The cases of the commands that work, in the order in which they run. */
const WORKING: Record<string, Case> = {
  "auth info": async ({ e2b }) => expect(await e2b("auth", "info")).toContain("Not logged in"),
  "auth logout": async ({ e2b }) => expect(await e2b("auth", "logout")).toContain("Not logged in"),
  "auth configure": async ({ e2b }) => expect(await e2b("auth", "configure")).toContain("No user config found"),
  "sandbox create": async (scene) => {
    scene.id = (await scene.e2b("sandbox", "create", "--detach", "base")).trim();
    expect(scene.id).toMatch(/^[a-z0-9]{20}$/);
  },
  "sandbox list": async ({ e2b, id }) => expect(await e2b("sandbox", "list")).toContain(id),
  "sandbox info": async ({ e2b, id }) => expect(await e2b("sandbox", "info", id)).toContain("State: running"),
  "sandbox exec": async ({ e2b, id }) => expect(await e2b("sandbox", "exec", id, "echo", "hi")).toBe("hi\n"),
  "sandbox connect": async ({ typed, id }) =>
    expect(await typed("echo $((6 * 7))\nexit\n", "sandbox", "connect", id)).toMatch(/\b42\b/),
  "sandbox logs": async ({ e2b, id }) => expect(await e2b("sandbox", "logs", id)).toContain(`Logs for sandbox ${id}`),
  "sandbox metrics": async ({ e2b, id }) => expect(await e2b("sandbox", "metrics", id)).toMatch(/CPU/),
  "sandbox pause": async ({ e2b, id }) => {
    await e2b("sandbox", "pause", id);
    expect(await e2b("sandbox", "info", id)).toContain("State: paused");
  },
  "sandbox resume": async ({ e2b, id }) => {
    await e2b("sandbox", "resume", id);
    expect(await e2b("sandbox", "info", id)).toContain("State: running");
  },
  "template list": async ({ e2b }) => expect(await e2b("template", "list")).toContain("code-interpreter-v1"),
  "template init": async ({ e2b }) => {
    expect(await e2b("template", "init", "--name", "mine", "--language", "typescript")).toContain("./template.ts");
  },
  "template migrate": async ({ e2b }) =>
    expect(await e2b("template", "migrate", "--language", "python-sync")).toContain("./template.py"),
  "sandbox kill": async ({ e2b, id }) => {
    expect(await e2b("sandbox", "kill", id)).toContain("has been killed");
    expect(await e2b("sandbox", "list")).not.toContain(id);
  },
};

/** The commands that hookbox refuses, with their arguments. They need no sandbox that runs. */
const REFUSED: Record<string, string[]> = {
  "sandbox snapshot create": ["a".repeat(20)],
  "sandbox snapshot list": [],
  "sandbox snapshot delete": ["a"],
  "template create": ["mine", "--dockerfile", "Dockerfile"],
  "template delete": ["--yes", "python"],
  "template publish": ["--yes", "python"],
  "template unpublish": ["--yes", "python"],
};

/**
 * Runs every command, and returns what came of it, sorted by name.
 *
 * @param python runs commands that need a terminal
 * @param given the variables that a user sets
 * @throws {AssertionError} if a command has no case, or does other than its case says
 */
export async function runCommands(python: string, given: Record<string, string>): Promise<CommandOutcome[]> {
  const program = join(await npmPackages(MANIFEST), "node_modules/@e2b/cli/dist/index.js");
  const cwd = makeTempFolder();
  writeFileSync(join(cwd, "Dockerfile"), "FROM debian\nRUN true\n");
  writeFileSync(join(cwd, "e2b.Dockerfile"), "FROM debian\nRUN true\n");
  writeFileSync(join(cwd, "e2b.toml"), 'template_id = "a"\ndockerfile = "e2b.Dockerfile"\ntemplate_name = "mine"\n');
  // As under npm, it looks for no newer version.
  const env = { ...process.env, ...given, HOME: makeTempFolder(), npm_config_user_agent: "npm" };
  const command = [process.execPath, program];
  const e2b: Scene["e2b"] = (...args) => run([...command, ...args], { cwd, env });
  const typed: Scene["typed"] = (text, ...args) =>
    run([python, "-c", TERMINAL, ...command, ...args], { cwd, env }, text);

  const commands = await commandsOf(e2b, []);
  expect(commands.sort()).toEqual([...KNOWN].sort());
  const scene: Scene = { e2b, typed, id: "" };
  const outcomes: CommandOutcome[] = Object.entries(UNUSED).map(([command, note]) => ({
    command,
    result: "unused",
    note,
  }));
  for (const [command, use] of Object.entries(WORKING)) {
    await use(scene);
    const difference = DIFFERENCES[command];
    outcomes.push(
      difference === undefined ? { command, result: "works" } : { command, result: "differs", note: difference },
    );
  }
  const refused = Object.entries(REFUSED).map(async ([command, args]): Promise<CommandOutcome> => {
    const note = await e2b(...command.split(" "), ...args).then(() => "not refused", sentenceOf);
    return { command, result: "refused", note };
  });
  return [...outcomes, ...await Promise.all(refused)].sort((a, b) => a.command < b.command ? -1 : 1);
}

const KNOWN = new Set(Object.keys({ ...WORKING, ...REFUSED, ...UNUSED }));

/** Reads the commands from the help of the groups that they are in. What has no case may be a group. */
async function commandsOf(e2b: Scene["e2b"], group: string[]): Promise<string[]> {
  if (KNOWN.has(group.join(" "))) return [group.join(" ")];
  const [, listed = ""] = (await e2b(...group, "--help")).split("\nCommands:\n");
  const names = [...listed.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = ""]) => name).filter((name) => name !== "help");
  if (names.length === 0) return [group.join(" ")];
  return (await Promise.all(names.map((name) => commandsOf(e2b, [...group, name])))).flat();
}

/**
 * Runs a program to its end, without input, or in a terminal that gets these lines once a prompt is there.
 *
 * @returns what it printed to stdout
 * @throws {Error} with all that it printed, if it does not end with 0
 */
function run([program = "", ...args]: string[], options: SpawnOptions, typed?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      ...options,
      stdio: [typed === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    });
    let [printed, errors, rest] = ["", "", typed];
    child.stdout?.setEncoding("utf8").on("data", (part: string) => {
      printed += part;
      if (rest === undefined || !/connecting to sandbox[^]*[#$] /.test(printed)) return;
      child.stdin?.write(rest);
      rest = undefined;
    });
    child.stderr?.setEncoding("utf8").on("data", (part: string) => errors += part);
    child.once("error", reject);
    child.once("close", (code, signal) => {
      if (code === 0) return resolve(printed);
      reject(new Error(`${args.join(" ")} ended with ${code ?? signal}\n${printed}\n${errors}`));
    });
  });
}
