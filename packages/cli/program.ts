/** Assembles the command line from the files in commands/, runs it, and prints its errors. @module */
import { Command, Option } from "commander";
import type { CommandContext } from "./commandcontext.ts";
import { Ended, HandledError, reportOf } from "./failure.ts";
import { nodeContext } from "./nodecontext.ts";
import { withCluster } from "./options.ts";
import manifest from "./package.json" with { type: "json" };
import { withPlainText } from "./terminal.ts";

/** Runs the command line of this process, until all output is written. @returns the exit code */
export async function runProcess(): Promise<number> {
  const context = nodeContext();
  const code = await runCLI(context.args, context);
  await context.flush();
  return code;
}

/**
 * Runs a command line until its end.
 *
 * @param args without the program's name
 * @returns the exit code: 0, that of a command in a sandbox, or 1 failure, 2 usage, 124 timeout, 130 interrupted
 */
export async function runCLI(args: readonly string[], given: CommandContext): Promise<number> {
  const context = withPlainText(given);
  try {
    const words = args.length === 0 ? ["--help"] : args;
    const program = await buildProgram(context, words);
    await program.parseAsync(words, { from: "user" });
    return 0;
  } catch (thrown) {
    const { aborted, reason } = context.signal;
    const isHandled = thrown instanceof HandledError && thrown.cause === reason;
    const error = aborted && !isHandled ? reason : thrown;
    const { code, lines } = reportOf(error);
    for (const line of lines) context.stderr.write(`${line}\n`);
    if (context.env["HOOKBOX_DEBUG"] && lines.length > 0 && thrown instanceof Error) {
      context.stderr.write(
        `${thrown.stack}\n${thrown.cause instanceof Error ? `caused by ${thrown.cause.stack}\n` : ""}`,
      );
    }
    return code;
  }
}

/** Heading of the commands that are about the command line itself. */
const OWN_HEADING = "This command:";
/** The command that completion scripts call. */
const COMPLETE = "complete";

/** Adds the arguments, options and action of one command. Its name and description are set already. */
type DefineCommand = (command: Command, context: CommandContext) => void;

/** A command as it is listed. Its module is imported only if the command line may mean it, so that help is fast. */
interface ListedCommand {
  name: string;
  description: string;
  load: () => Promise<DefineCommand>;
  /** Names of the same command in kubectl, docker and e2b. */
  aliases?: readonly string[];
  /** Shown after a usage error, in addition to where the help is. */
  hint?: string;
}

/** For commands that accept the command line of another program after their own arguments. */
const DASHES = "Put -- before the command that is to run. ";

const GROUPS: [heading: string, commands: ListedCommand[]][] = [
  ["Create:", [
    {
      name: "create",
      description: "Create a sandbox, and print its name when it is ready",
      load: async () => (await import("./commands/create.ts")).defineCreate,
      hint: DASHES,
    },
    {
      name: "run",
      description: "Create a sandbox, run one command in it, and delete it",
      load: async () => (await import("./commands/run.ts")).defineRun,
      hint: DASHES,
    },
    {
      name: "suspend",
      description: "Suspend sandboxes: delete their Pods, keep names and volumes",
      load: async () => (await import("./commands/suspend.ts")).defineSuspend,
    },
    {
      name: "resume",
      description: "Resume sandboxes, and wait until they are ready",
      load: async () => (await import("./commands/suspend.ts")).defineResume,
    },
    {
      name: "restart",
      description: "Restart sandboxes: create new Pods from their current specs",
      load: async () => (await import("./commands/suspend.ts")).defineRestart,
    },
    {
      name: "extend",
      description: "Change when a sandbox ends",
      load: async () => (await import("./commands/suspend.ts")).defineExtend,
    },
    {
      name: "rm",
      aliases: ["delete", "kill"],
      description: "Delete sandboxes, with their Pods and volumes",
      load: async () => (await import("./commands/rm.ts")).defineRm,
    },
  ]],
  ["Use:", [
    {
      name: "exec",
      description: "Run a command in a sandbox",
      load: async () => (await import("./commands/exec.ts")).defineExec,
      hint: DASHES,
    },
    {
      name: "ssh",
      description: "Open a shell in a sandbox",
      load: async () => (await import("./commands/exec.ts")).defineSsh,
      hint: DASHES,
    },
    {
      name: "cp",
      description: "Copy files and folders to and from a sandbox",
      load: async () => (await import("./commands/cp.ts")).defineCp,
    },
    {
      name: "ls",
      description: "List files in a sandbox",
      load: async () => (await import("./commands/ls.ts")).defineLs,
      hint: 'To list sandboxes, use "hookbox get". ',
    },
    {
      name: "url",
      description: "Print the URL of a port of a sandbox",
      load: async () => (await import("./commands/url.ts")).defineUrl,
    },
    {
      name: "open",
      description: "Open a sandbox's terminal, or one of its ports, in the browser",
      load: async () => (await import("./commands/url.ts")).defineOpen,
    },
    {
      name: "dashboard",
      description: "Open the dashboard in the browser, signed in",
      load: async () => (await import("./commands/dashboard.ts")).defineDashboard,
    },
    {
      name: "token",
      description: "Sign a token that gives access to one sandbox",
      load: async () => (await import("./commands/token.ts")).defineToken,
    },
    {
      name: "mcp",
      description: "Serve sandboxes as tools to agents (Model Context Protocol)",
      load: async () => (await import("./commands/mcp.ts")).defineMcp,
    },
  ]],
  ["Inspect:", [
    {
      name: "get",
      aliases: ["list", "ps"],
      description: "Show sandboxes, claims, pools or templates",
      load: async () => (await import("./commands/get.ts")).defineGet,
    },
    {
      name: "describe",
      aliases: ["inspect"],
      description: "Show one sandbox, claim, pool or template, and why it is in its state",
      load: async () => (await import("./commands/describe.ts")).defineDescribe,
    },
    {
      name: "why",
      description: "Explain why a claim, Sandbox, pool or template is not ready, and what to do",
      load: async () => (await import("./commands/why.ts")).defineWhy,
    },
    {
      name: "events",
      description: "List the Events about sandboxes",
      load: async () => (await import("./commands/events.ts")).defineEvents,
    },
    {
      name: "wait",
      description: "Wait until a sandbox or pool is ready, suspended, finished or deleted",
      load: async () => (await import("./commands/wait.ts")).defineWait,
    },
    {
      name: "jobs",
      description: "List what runs in a sandbox: commands, terminals and background jobs",
      load: async () => (await import("./commands/ls.ts")).defineJobs,
      hint: 'To list sandboxes, use "hookbox get". ',
    },
    {
      name: "logs",
      description: "Print the logs of a sandbox's containers",
      load: async () => (await import("./commands/logs.ts")).defineLogs,
    },
    {
      name: "top",
      description: "Show CPU and memory usage of sandboxes",
      load: async () => (await import("./commands/top.ts")).defineTop,
    },
    {
      name: "pool",
      description: "Show how well pools serve claims, and simulate other sizes",
      load: async () => (await import("./commands/pool.ts")).definePool,
    },
  ]],
  ["Run hookbox:", [
    {
      name: "install",
      description: "Install hookbox in a cluster, or print its manifests",
      load: async () => (await import("./commands/install.ts")).defineInstall,
    },
    {
      name: "project",
      description: "Create projects for E2B's SDKs, and their API keys",
      load: async () => (await import("./commands/project.ts")).defineProject,
    },
    {
      name: "uninstall",
      description: "Remove hookbox from a cluster; CRDs and user objects stay",
      load: async () => (await import("./commands/uninstall.ts")).defineUninstall,
    },
    {
      name: "manifests",
      description: "Print CRDs and controllers as YAML",
      load: async () => (await import("./commands/install.ts")).defineManifests,
    },
    {
      name: "convert",
      description: "Print objects of v1alpha1 as v1beta1",
      load: async () => (await import("./commands/convert.ts")).defineConvert,
    },
    {
      name: "serve",
      description: "Run the hooks that Metacontroller calls",
      load: async () => (await import("./commands/processes.ts")).defineProcess("serve"),
    },
    {
      name: "keeper",
      description: "Run the keeper: expiry, Events, metrics; and the binder with it",
      load: async () => (await import("./commands/processes.ts")).defineProcess("keeper"),
    },
    {
      name: "binder",
      description: "Run the binder in a process of its own: it binds claims to Sandboxes",
      load: async () => (await import("./commands/processes.ts")).defineProcess("binder"),
    },
    {
      name: "router",
      description: "Run the router: HTTP access to sandboxes",
      load: async () => (await import("./commands/processes.ts")).defineProcess("router"),
    },
    {
      name: "egress",
      description: "Run the egress policy, which an egress proxy asks what sandboxes may reach",
      load: async () => (await import("./commands/processes.ts")).defineProcess("egress"),
    },
    {
      name: "e2b",
      description: "Run the server of E2B's API, which E2B's SDKs use",
      load: async () => (await import("./commands/processes.ts")).defineProcess("e2b"),
    },
    {
      name: "runtime",
      description: "Run the runtime, the process inside a sandbox",
      load: async () => (await import("./commands/processes.ts")).defineProcess("runtime"),
    },
    {
      name: "replay",
      description: "Send recorded hook requests to this version, and show which decisions differ",
      load: async () => (await import("./commands/replay.ts")).defineReplay,
    },
    {
      name: "doctor",
      description: "Check what keeps sandboxes from working in this cluster",
      load: async () => (await import("./commands/doctor.ts")).defineDoctor,
    },
  ]],
];

const VERSION: ListedCommand = {
  name: "version",
  description: "Show the version",
  load: () => Promise.resolve((command, context) => void command.action(() => showVersion(context))),
};

const COMPLETION: ListedCommand[] = [
  {
    name: "completion",
    description: "Print a script for completion in bash, zsh or fish",
    load: async () => (await import("./commands/completion.ts")).defineCompletion,
  },
  {
    name: COMPLETE,
    description: "Complete a command line",
    load: async () => (await import("./commands/completion.ts")).defineComplete,
  },
];

/**
 * Builds the program. It writes to the streams of the context, and throws where Commander would end the process.
 *
 * @param words the command line; of commands that it does not contain, only the name and the description are defined
 * @param completes false: without the commands for completion, because the completion library adds its own
 */
export async function buildProgram(
  context: CommandContext,
  words: readonly string[],
  completes = true,
): Promise<Command> {
  const program = new Command(context.program)
    .description("Sandboxes for AI agents on Kubernetes: create them, use them, find out why they do not start.")
    .usage("<command> [options]")
    .enablePositionalOptions()
    .option("-v, --version", "show the version")
    .on("option:version", () => showVersion(context))
    .addOption(new Option("-V").hideHelp())
    .on("option:V", () => showVersion(context))
    .addHelpCommand(
      new Command("help").description("Show help for a command").argument("[command]").helpGroup(OWN_HEADING),
    )
    .addHelpText("after", helpAfter(context));
  const isNamed = ({ name, aliases = [] }: ListedCommand, among = words) =>
    [name, ...aliases].some((one) => among.includes(one));
  // If the command line begins with a command, its help and its errors need no others.
  const isOne = completes && GROUPS.some(([, commands]) => commands.some((one) => isNamed(one, words.slice(0, 1))));
  const add = async (listed: ListedCommand, heading: string) => {
    const { name, aliases = [], description, load, hint = "" } = listed;
    if (isOne && !isNamed(listed)) return;
    const command = new Command(name).aliases(aliases).description(description).helpGroup(heading);
    if (isNamed(listed)) (await load())(command, context);
    if (aliases.length > 0) command.addHelpText("after", `\nOther names of this command: ${aliases.join(", ")}`);
    command.showHelpAfterError(`${hint}See "${context.program} ${name} --help".`);
    pointToHelp(command.commands, context);
    program.addCommand(withContext(command, context), { hidden: name === COMPLETE });
  };
  for (const [heading, commands] of GROUPS) for (const one of commands) await add(one, heading);
  await add(VERSION, OWN_HEADING);
  if (completes) { for (const one of COMPLETION) await add(one, OWN_HEADING); }
  return withContext(hidden(withCluster(program)), context);
}

function helpAfter({ program }: CommandContext): string {
  return `
list and ps mean get, delete and kill mean rm, inspect means describe.

See "${program} <command> --help". A cluster is found as kubectl finds it: by --kubeconfig, --context and -n, by
KUBECONFIG, by ~/.kube/config, or in a Pod by its ServiceAccount.`;
}

/** Makes Commander write to the context's streams, and throw instead of ending the process. */
function withContext(command: Command, context: CommandContext): Command {
  for (const inner of command.commands) withContext(inner, context);
  const usageOf = (one: Command): string =>
    [...one.parent ? [pathTo(one.parent)] : [], one.name(), one.usage()].filter(Boolean).join(" ");
  return command.exitOverride().configureHelp({
    subcommandTerm: (inner) => inner.name(),
    commandUsage: usageOf,
  }).configureOutput({
    writeOut: (text) =>
      context.stdout.write(text.replaceAll(/(?<!kubectl )\bhookbox (?=[a-z])/g, `${context.program} `)),
    writeErr: (text) => context.stderr.write(text),
    outputError: (text, write) => write(text.replace(/^error: (.)/, (_, first: string) => first.toUpperCase())),
    getOutHelpWidth: () => context.stdout.columns ?? 100,
    getErrHelpWidth: () => context.stderr.columns ?? 100,
  });
}

/** Lets errors of subcommands end with where their help is. */
function pointToHelp(commands: readonly Command[], context: CommandContext): void {
  for (const command of commands) {
    command.showHelpAfterError(`See "${context.program} ${pathTo(command)} --help".`);
    pointToHelp(command.commands, context);
  }
}

function pathTo(command: Command): string {
  return [...command.parent ? [pathTo(command.parent)] : [], command.name()].join(" ");
}

function showVersion({ stdout }: CommandContext): never {
  stdout.write(`${manifest.version}\n`);
  throw new Ended(0);
}

/** Hides the shared options in the program's own help. They may precede the command, but its help lists them. */
function hidden(program: Command): Command {
  for (const option of program.options) if (option.long !== "--version") option.hideHelp();
  return program;
}
