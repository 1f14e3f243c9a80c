/** `hookbox create`: creates a sandbox and prints its name. @module */
import type { Command } from "commander";
import type { KubeObject } from "../../api/objects/objects.ts";
import { create } from "../../sdk/control/create.ts";
import type { Target } from "../../sdk/control/find.ts";
import type { CreateOptions, VolumeOptions } from "../../sdk/options.ts";
import { CLAIM, SANDBOX } from "../../summary/kinds.ts";
import { getObject } from "../cluster.ts";
import type { CommandContext, ConnectionOptions } from "../commandcontext.ts";
import { UsageError } from "../failure.ts";
import { type ClusterOptions, collect, durationMs, optionsOf, pairs, wholeNumber, withRouter } from "../options.ts";
import { type Format, formatOf, serialize } from "../output.ts";
import { createSandbox } from "../sandbox.ts";

interface CreateCommandOptions extends SandboxOptions {
  output?: string;
  wait: boolean;
  keepFailed?: boolean;
}

const MORE = `
Prints only the name, for scripts. A sandbox that does not become ready is deleted again, and the cause is reported.

Examples:
  box=$(hookbox create --pool python)
  hookbox create --template python --name session --timeout 8h --idle 10m
  hookbox create --image busybox:1.37 -- sleep infinity`;

export function defineCreate(command: Command, context: CommandContext): void {
  command
    .argument("[command...]", "command to run, with --image (default: that of the image)")
    .option("--timeout <time>", "delete it after this time, such as 30m or 8h (default: never)")
    .option("--no-wait", "do not wait until it is ready")
    .option("--keep-failed", "keep it if it does not become ready")
    .option("-o, --output <format>", "json, yaml or name");
  withSandboxOptions(command).addHelpText("after", MORE).action(async (words: string[]) => {
    const options = optionsOf<CreateCommandOptions>(command);
    const format = formatOf(options.output, ["json", "yaml", "name"]);
    const lifetimeMs = options.timeout === undefined ? undefined : durationMs("--timeout", options.timeout);
    const wanted = {
      ...createOptionsOf(options, lifetimeMs),
      ...words.length > 0 ? { command: words } : {},
      ...options.keepFailed ? { keepFailed: true } : {},
    };
    if (!options.wait && options.idle !== undefined && options.image === undefined) {
      throw new UsageError(
        "Cannot use --idle with --no-wait: the idle timeout is set after the sandbox has been created",
      );
    }
    await runCreate(context, options, wanted, { wait: options.wait, format });
  });
  withRouter(command);
}

/** Options of the creation. */
interface CreateRequest {
  wait: boolean;
  format: Format | undefined;
}

/** Creates the sandbox. @throws {SandboxError} if that fails, or it does not become Ready */
async function runCreate(
  context: CommandContext,
  where: ConnectionOptions,
  options: CreateOptions,
  { wait, format }: CreateRequest,
): Promise<void> {
  const { api, namespace } = await context.connectCluster(where);
  const connection = await context.connect(where);
  let made: Omit<Target, "kind">;
  if (wait) {
    const handle = await createSandbox(context, connection, { ...options, namespace });
    await handle.disconnect();
    made = handle;
  } else {
    const creator = { now: context.now(), trace: {}, hasRouter: connection.way === "router" };
    made = (await create(api, namespace, { ...options, signal: context.signal }, creator)).target;
  }
  const kind = options.image === undefined ? CLAIM : SANDBOX;
  if (format === undefined) return context.stdout.write(`${made.name}\n`);
  if (format === "name") return context.stdout.write(`${kind.qualified}/${made.name}\n`);
  const object: KubeObject = await getObject(api, kind, namespace, made.name);
  context.stdout.write(await serialize(object, format === "json" ? "json" : "yaml"));
}

/** Values of the options that describe a new sandbox, for `create` and `run`. */
export interface SandboxOptions extends ClusterOptions {
  pool?: string;
  template?: string;
  image?: string;
  name?: string;
  env?: string[];
  secretEnv?: string[];
  secretFile?: string[];
  startCommand?: string;
  cpu?: string;
  memory?: string;
  allowEgress?: string[];
  label?: string[];
  annotation?: string[];
  timeout?: string;
  idle?: string;
  port?: string[];
  volume?: string[];
  readyTimeout?: string;
}

const SANDBOX_HEADING = "Sandbox:";

/** Adds the options that describe a new sandbox. */
export function withSandboxOptions(command: Command): Command {
  const option = (flags: string, description: string, isList = false) => {
    const made = command.createOption(flags, description).helpGroup(SANDBOX_HEADING);
    command.addOption(isList ? made.argParser<string[]>(collect) : made);
  };
  option("--pool <name>", "use a sandbox of this pool");
  option("--template <name>", "use a pool of this template, or create one from it");
  option("--image <image>", "use this image, without a template");
  option("--name <name>", "name of the sandbox (default: random)");
  option("-e, --env <key=value>", "environment variable; can be repeated", true);
  option("--secret-env <name=secret/key>", "environment variable from a Secret; can be repeated", true);
  option("--secret-file <path=secret/key>", "file in the sandbox from a Secret; can be repeated", true);
  option("--start-command <command>", "command for sh -c that starts in the sandbox before it is ready");
  option("--cpu <amount>", "CPU, such as 2 or 500m, if the template allows it");
  option("--memory <amount>", "memory, such as 4Gi, if the template allows it");
  option(
    "--allow-egress <hosts>",
    "reach only these hosts and networks, such as pypi.org,*.example.com, through the egress proxy; can be repeated",
    true,
  );
  option("-l, --label <key=value>", "label of the object; can be repeated", true);
  option("--annotation <key=value>", "annotation of the object; can be repeated", true);
  option("--idle <time>", "suspend it after this time without use (needs --router)");
  option("--port <n>", "port that it serves, with --image; can be repeated", true);
  option("--volume <name:size[:path]>", "new volume, such as work:1Gi:/workspace; can be repeated", true);
  option("--ready-timeout <time>", "how long to wait for it (default: 3m)");
  return command;
}

/**
 * Converts the options to those of the SDK.
 *
 * @param lifetimeMs time until it is deleted; undefined: never @throws {UsageError} if one is invalid
 */
export function createOptionsOf(options: SandboxOptions, lifetimeMs: number | undefined): CreateOptions {
  const { pool, template, image, name, namespace, env, label, annotation, idle, port, volume, readyTimeout } = options;
  const { cpu, memory } = options;
  const allow = options.allowEgress?.flatMap((text) => text.split(",").map((word) => word.trim()).filter(Boolean));
  if ([pool, template, image].filter((source) => source !== undefined).length !== 1) {
    throw new UsageError("Cannot create a sandbox: exactly one of --pool, --template and --image is needed");
  }
  const ifAny = <K extends string, V>(key: K, value: V | undefined) =>
    value === undefined ? {} : { [key]: value } as Record<K, V>;
  return {
    ...ifAny("pool", pool),
    ...ifAny("template", template),
    ...ifAny("image", image),
    ...ifAny("name", name),
    ...ifAny("namespace", namespace),
    ...ifAny("env", env && pairs("--env", env)),
    ...ifAny("secrets", options.secretEnv && pairs("--secret-env", options.secretEnv)),
    ...ifAny("secretFiles", options.secretFile && pairs("--secret-file", options.secretFile)),
    ...ifAny("startCommand", options.startCommand),
    ...ifAny("resources", cpu === undefined && memory === undefined ? undefined : { cpu, memory }),
    ...ifAny("network", allow && { allow }),
    ...ifAny("labels", label && pairs("--label", label)),
    ...ifAny("metadata", annotation && pairs("--annotation", annotation)),
    timeoutMs: lifetimeMs ?? null,
    ...ifAny("idleMs", idle === undefined ? undefined : durationMs("--idle", idle)),
    ...ifAny("ports", port?.map((text) => wholeNumber("--port", text, 1, 65535))),
    ...ifAny("volumes", volume?.map(volumeOf)),
    ...ifAny("readyTimeoutMs", readyTimeout === undefined ? undefined : durationMs("--ready-timeout", readyTimeout)),
  };
}

function volumeOf(text: string): VolumeOptions {
  const [name, size, ...path] = text.split(":");
  if (!name || !size) throw new UsageError(`Cannot use --volume "${text}": it is not NAME:SIZE or NAME:SIZE:PATH`);
  return { name, size, ...path.length > 0 ? { path: path.join(":") } : {} };
}
