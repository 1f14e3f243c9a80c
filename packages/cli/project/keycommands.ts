/** `hookbox project key`: creates, lists, rotates and revokes the API keys of a project. @module */
import { Command } from "commander";
import { type KeyEntry, replacedKey, type Right, RIGHTS } from "../../api/e2b/objects.ts";
import type { Api } from "../../kube/api.ts";
import { ageOf, humanDuration } from "../../summary/age.ts";
import type { CommandContext } from "../commandcontext.ts";
import { UsageError } from "../failure.ts";
import { durationMs, optionsOf, withKubeconfig } from "../options.ts";
import { formatOf, renderTable, serialize } from "../output.ts";
import { createKey, listKeys, revokeKey, rotateKey, type StoredKey } from "./keys.ts";
import { checkKeyName, checkName } from "./names.ts";

/** Creates an API key, and prints it. @throws {Failure} if there is a key of this name */
export async function showKey(
  context: CommandContext,
  api: Api,
  project: string,
  name: string,
  rights: readonly Right[],
): Promise<void> {
  const key = await createKey(api, project, name, rights, context.now());
  showOnce(context, key, `API key "${name}" of project ${project}. It is shown only now:`);
}

function showOnce(context: CommandContext, key: string, text: string): void {
  context.stderr.write(`${text}\n`);
  context.stdout.write(`${key}\n`);
}

export function createKeyCommand(context: CommandContext): Command {
  return new Command("key")
    .description("Create, list, rotate and revoke the API keys of a project")
    .addCommand(createKeyCreate(context))
    .addCommand(createKeyRotate(context))
    .addCommand(createKeyList(context))
    .addCommand(createKeyRevoke(context));
}

function createKeyCreate(context: CommandContext): Command {
  const command = new Command("create")
    .description("Create an API key, and print it: it is shown once")
    .argument("<project>", "name of the project")
    .argument("<name>", "name of the key, for the list")
    .option("--rights <list>", "create (and change and end), connect (and resume), read; with commas", RIGHTS.join(","))
    .action(async (project: string, name: string) => {
      const options = optionsOf<{ rights: string }>(command);
      checkName("project", project);
      checkKeyName(name);
      const rights = rightsFrom(options.rights);
      const { api } = await context.connectCluster(options);
      await showKey(context, api, project, name, rights);
    });
  return withKubeconfig(command);
}

function createKeyRotate(context: CommandContext): Command {
  const command = new Command("rotate")
    .description("Replace an API key by a new one, and print it. The old one works a while longer")
    .argument("<project>", "name of the project")
    .argument("<name>", "name of the key")
    .option("--overlap <duration>", "how long the old key works, such as 1h or 7d; 0: not any more", "24h")
    .action(async (project: string, name: string) => {
      const options = optionsOf<{ overlap: string }>(command);
      checkName("project", project);
      const overlapMs = /^0[smhd]?$/.test(options.overlap) ? 0 : durationMs("--overlap", options.overlap);
      const { api } = await context.connectCluster(options);
      const key = await rotateKey(api, project, name, overlapMs, context.now());
      const old = overlapMs === 0 ? "is refused from now on" : `works for ${humanDuration(overlapMs)} more`;
      showOnce(context, key, `API key "${name}" of project ${project}. It is shown only now; the old one ${old}:`);
    });
  return withKubeconfig(command);
}

function createKeyList(context: CommandContext): Command {
  const command = new Command("list")
    .description("List the API keys of a project, without their values")
    .argument("<project>", "name of the project")
    .option("-o, --output <format>", "json or yaml")
    .action(async (project: string) => {
      const options = optionsOf<{ output?: string }>(command);
      const format = formatOf(options.output, ["json", "yaml"]);
      checkName("project", project);
      const { api } = await context.connectCluster(options);
      const now = context.now();
      const keys = (await listKeys(api, project)).map((key) => listed(key, now));
      if (format === "json" || format === "yaml") return context.stdout.write(await serialize(keys, format));
      if (keys.length === 0) return context.stderr.write(`No API keys found in project ${project}.\n`);
      const age = (time: string | undefined) => time === undefined ? "never" : ageOf(time, now);
      context.stdout.write(renderTable(
        ["NAME", "RIGHTS", "LAST USED", "AGE", "OLD KEY"],
        keys.map(({ name, rights, createdAt, lastUsedAt, oldKey }) => [
          ...[name, rights.join(","), age(lastUsedAt), ageOf(createdAt, now)],
          oldKey ? oldKeyText(oldKey, now) : NONE,
        ]),
      ));
    });
  return withKubeconfig(command);
}

/** A key without hashes. */
interface ListedKey extends Omit<StoredKey, "sha256" | "replaced"> {
  /** The key that it has replaced, while that works. */
  oldKey?: Omit<NonNullable<KeyEntry["replaced"]>, "sha256">;
}

function listed(key: StoredKey, now: Date): ListedKey {
  const { sha256: _, replaced: __, ...shown } = key;
  const old = replacedKey(key, now.getTime());
  if (!old) return shown;
  const { sha256: ___, ...oldKey } = old;
  return { ...shown, oldKey };
}

function oldKeyText({ until, lastUsedAt }: NonNullable<ListedKey["oldKey"]>, now: Date): string {
  const used = lastUsedAt === undefined ? "never used" : `used ${ageOf(lastUsedAt, now)} ago`;
  return `${used}, ends in ${humanDuration(Date.parse(until) - now.getTime())}`;
}

const NONE = "<none>";

function createKeyRevoke(context: CommandContext): Command {
  const command = new Command("revoke")
    .description("Revoke an API key: it is refused from now on. Sandboxes that it has created go on")
    .argument("<project>", "name of the project")
    .argument("<name>", "name of the key")
    .action(async (project: string, name: string) => {
      checkName("project", project);
      const { api } = await context.connectCluster(optionsOf(command));
      await revokeKey(api, project, name);
      context.stderr.write(`API key "${name}" of project ${project} is revoked.\n`);
    });
  return withKubeconfig(command);
}

function rightsFrom(text: string): Right[] {
  const words = text.split(",").map((word) => word.trim()).filter(Boolean);
  const rights = RIGHTS.filter((right) => words.includes(right));
  if (rights.length > 0 && rights.length === new Set(words).size) return rights;
  throw new UsageError(`Cannot use --rights "${text}": use ${RIGHTS.join(", ")}, separated by commas`);
}
