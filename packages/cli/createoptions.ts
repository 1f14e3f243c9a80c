/** The options that describe a new sandbox, for `create` and `run`. @module */
import type { Command } from "commander";
import type { CreateOptions, VolumeOptions } from "../sdk/options.ts";
import type { ClusterOptions } from "./clusteroptions.ts";
import { UsageError } from "./failure.ts";
import { collect, durationMs, pairs, wholeNumber } from "./values.ts";

/** Values of these options. */
export interface SandboxOptions extends ClusterOptions {
  pool?: string;
  template?: string;
  image?: string;
  name?: string;
  env?: string[];
  label?: string[];
  annotation?: string[];
  timeout?: string;
  idle?: string;
  port?: string[];
  volume?: string[];
  readyTimeout?: string;
}

const HEADING = "Sandbox:";

/** Adds the options. */
export function withSandbox(command: Command): Command {
  const option = (flags: string, description: string, isList = false) => {
    const made = command.createOption(flags, description).helpGroup(HEADING);
    command.addOption(isList ? made.argParser<string[]>(collect) : made);
  };
  option("--pool <name>", "from this pool: at once, if it has one left");
  option("--template <name>", "from this template: from a pool of it, else made anew");
  option("--image <image>", "from this image, without a template");
  option("--name <name>", "its name (default: one at random)");
  option("-e, --env <key=value>", "environment variable; again for more", true);
  option("-l, --label <key=value>", "label of the object; again for more", true);
  option("--annotation <key=value>", "annotation of the object; again for more", true);
  option("--idle <time>", "suspend it when nobody has used it for so long (needs a router)");
  option("--port <n>", "port that it serves, with --image; again for more", true);
  option("--volume <name:size[:path]>", "volume of its own, such as work:1Gi:/workspace; again for more", true);
  option("--ready-timeout <time>", "how long to wait for it (default: 3m)");
  return command;
}

/**
 * Converts the options.
 *
 * @param lifetimeMs time until it is deleted; undefined: never @throws {UsageError} if one is invalid
 */
export function createOptionsOf(options: SandboxOptions, lifetimeMs: number | undefined): CreateOptions {
  const { pool, template, image, name, namespace, env, label, annotation, idle, port, volume, readyTimeout } = options;
  if ([pool, template, image].filter((source) => source !== undefined).length !== 1) {
    throw new UsageError("Cannot make a sandbox: exactly one of --pool, --template and --image is needed");
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
    ...ifAny("labels", label && pairs("--label", label)),
    ...ifAny("metadata", annotation && pairs("--annotation", annotation)),
    ...ifAny("timeoutMs", lifetimeMs),
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
