/** `hookbox jobs`: lists the commands, terminals and background jobs that run in a sandbox. @module */
import type { Command } from "commander";
import type { CommandInfo, JobInfo } from "../../sdk/commands/commands.ts";
import type { CommandContext, ConnectionOptions } from "../commandcontext.ts";
import { optionsOf, withRouter } from "../options.ts";
import { formatOf, renderTable, serialize } from "../output.ts";
import { openSandbox } from "../sandbox.ts";
import { oneLine } from "../terminal.ts";

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
