/** `hookbox ls`: lists files of a sandbox, which is resumed if it is suspended. @module */
import type { Command } from "commander";
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
