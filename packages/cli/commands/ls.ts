/** `hookbox ls` and `hookbox jobs`: list the files of a sandbox, and what runs in it. A suspended one is resumed. @module */
import type { Command } from "commander";
import type { CommandInfo, JobInfo } from "../../sdk/commands/commands.ts";
import type { Entry } from "../../sdk/files/entry.ts";
import type { CommandContext, ConnectionOptions } from "../commandcontext.ts";
import { optionsOf, withRouter } from "../options.ts";
import { type Format, formatOf, renderTable, serialize } from "../output.ts";
import { openSandbox } from "../sandbox.ts";
import { oneLine } from "../terminal.ts";
import { type RemotePath, sandboxPath } from "./cp.ts";

interface LsOptions {
  long?: boolean;
  all?: boolean;
  output?: string;
}

export function defineLs(command: Command, context: CommandContext): void {
  command
    .argument("<sandbox[:path]>", "sandbox, and a folder or file in it (default: its working directory)")
    .option("-l, --long", "with mode, size and time")
    .option("-a, --all", "also names that begin with a dot")
    .option("-o, --output <format>", "json or yaml")
    .action(async (text: string) => {
      const options = optionsOf<LsOptions>(command);
      const format = formatOf(options.output, ["json", "yaml"]);
      const remote = sandboxPath(text);
      const { long = false, all = false } = options;
      await runLs(context, { ...options, ...remote.namespace ? { namespace: remote.namespace } : {} }, remote, {
        long,
        all,
        format,
      });
    });
  withRouter(command);
}

/** Options of `hookbox ls`. */
interface LsRequest {
  long: boolean;
  /** Whether to show names that begin with a dot. */
  all: boolean;
  format: Format | undefined;
}

/** Lists the folder or file. @throws {FileNotFoundError} if it does not exist */
async function runLs(
  context: CommandContext,
  where: ConnectionOptions,
  { sandbox: name, path }: RemotePath,
  { long, all, format }: LsRequest,
): Promise<void> {
  const sandbox = await openSandbox(context, await context.connect(where), name);
  try {
    const at = path || ".";
    const { signal } = context;
    const found = await sandbox.files.stat(at, { signal });
    const isFolder = found.type === "directory" || at.endsWith("/");
    const entries = isFolder ? await sandbox.files.list(at, { signal }) : [found];
    const shown = entries.filter((entry) => all || format !== undefined || !entry.name.startsWith("."));
    if (format === "json" || format === "yaml") return context.stdout.write(await serialize(entries, format));
    context.stdout.write(long ? renderLong(shown) : shown.map((entry) => `${oneLine(nameOf(entry))}\n`).join(""));
  } finally {
    await sandbox.disconnect();
  }
}

function renderLong(entries: readonly Entry[]): string {
  return renderTable(
    ["MODE", "SIZE", "MODIFIED", "NAME"],
    entries.map((entry) => [
      modeOf(entry),
      String(entry.size),
      entry.modifiedAt.toISOString().slice(0, 19).replace("T", " "),
      entry.target === undefined ? nameOf(entry) : `${entry.name} -> ${entry.target}`,
    ]),
  );
}

function nameOf({ name, type }: Entry): string {
  return type === "directory" ? `${name}/` : name;
}

const LETTERS = { directory: "d", symlink: "l", file: "-", other: "?" } as const;

/** Formats the mode as ls does: drwxr-xr-x. */
function modeOf({ type, mode }: Entry): string {
  const bits = ["r", "w", "x"];
  const rights = Array.from({ length: 9 }, (_, i) => mode & (1 << (8 - i)) ? bits[i % 3] : "-").join("");
  return LETTERS[type] + rights;
}

interface JobsOptions extends ConnectionOptions {
  output?: string;
}

const MORE = `
KIND is command, terminal or job. A job is a process that a command, a terminal or code has left behind, such as
"nohup ./train.sh &". A sandbox is not suspended as idle while a command or a terminal runs, or while a job works.`;

export function defineJobs(command: Command, context: CommandContext): void {
  command
    .argument("<sandbox>", "name of a claim or a Sandbox, which is resumed if it is suspended")
    .option("-o, --output <format>", "json or yaml")
    .addHelpText("after", MORE)
    .action(async (name: string) => {
      await runJobs(context, name, optionsOf<JobsOptions>(command));
    });
  withRouter(command);
}

type Row = JobInfo & { kind: "job" } | CommandInfo & { kind: "command" | "terminal" };

/** Prints what runs, the oldest first. */
async function runJobs(context: CommandContext, name: string, options: JobsOptions): Promise<void> {
  const format = formatOf(options.output, ["json", "yaml"]);
  const sandbox = await openSandbox(context, await context.connect(options), name);
  try {
    const { signal } = context;
    const [known, jobs] = await Promise.all([
      sandbox.commands.list({ signal }),
      sandbox.commands.listJobs({ signal }),
    ]);
    const running = known.filter(({ exitCode }) => exitCode === undefined);
    const rows: Row[] = [
      ...running.map((one) => ({ ...one, kind: one.terminal ? "terminal" as const : "command" as const })),
      ...jobs.map((one) => ({ ...one, kind: "job" as const })),
    ].sort((one, other) => one.startedAt.getTime() - other.startedAt.getTime());
    if (format === "json" || format === "yaml") return context.stdout.write(await serialize(rows, format));
    if (rows.length === 0) return context.stderr.write(`Nothing runs in ${name}.\n`);
    context.stdout.write(renderTable(
      ["PID", "KIND", "STARTED", "CPU", "COMMAND"],
      rows.map((row) => [
        String(row.processId),
        row.kind,
        row.startedAt.toISOString().slice(0, 19).replace("T", " "),
        row.kind === "job" ? `${row.cpuSeconds.toFixed(1)}s` : "",
        oneLine(row.command.join(" ")),
      ]),
    ));
  } finally {
    await sandbox.disconnect();
  }
}
