/** `hookbox project`: creates projects for E2B's clients, and their API keys. @module */
import { randomBytes } from "node:crypto";
import { Command } from "commander";
import { PROJECT_LABEL, RIGHTS } from "../../api/e2b/objects.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { quantity } from "../../api/objects/quantity.ts";
import { RUNTIME_KEY_SECRET } from "../../api/router/scopedtoken.ts";
import { type Api, isOk, messageOf, pathOf } from "../../kube/api.ts";
import { pause } from "../../sdk/runtime/repeat.ts";
import { ageOf } from "../../summary/age.ts";
import { COUNTED_CLAIMS, type Quota, quotaUses } from "../../summary/quotas.ts";
import type { CommandContext } from "../commandcontext.ts";
import { Failure, UsageError } from "../failure.ts";
import { createApplier, nameOf } from "../install/apply.ts";
import { optionsOf, wholeNumber, withKubeconfig } from "../options.ts";
import { formatOf, renderTable, serialize } from "../output.ts";
import { changesOf } from "../project/changes.ts";
import { createKeyCommand, showKey } from "../project/keycommands.ts";
import { listKeys } from "../project/keys.ts";
import { checkKeyName, checkName } from "../project/names.ts";
import { projectObjects } from "../project/objects.ts";
import { spinning } from "../terminal.ts";

const HELP = `
A project is a namespace for programs that use E2B's SDKs (docs/e2b.md). Its API keys reach no other namespace.

Examples:
  hookbox project create demo --image hookbox-agent:local
  hookbox project create demo --image registry.example/hookbox-agent:0.2.0 --storage 2Gi --sandboxes 100
  hookbox project key create demo ci --rights create,connect
  hookbox project key rotate demo ci
  hookbox project key revoke demo ci
  kubectl delete namespace demo   # deletes the project with all its sandboxes`;

export function defineProject(command: Command, context: CommandContext): void {
  command
    .usage("create|list|key [options]")
    .addHelpText("after", HELP)
    .addCommand(createCreate(context))
    .addCommand(createList(context))
    .addCommand(createKeyCommand(context));
}

interface CreateProjectOptions {
  image?: string;
  pool: boolean;
  size: string;
  sandboxes: string;
  cpu: string;
  memory: string;
  storage?: string;
  root?: boolean;
  hostUsers?: boolean;
  key: string;
  systemNamespace: string;
  dryRun?: boolean;
}

function createCreate(context: CommandContext): Command {
  const command = new Command("create")
    .description("Create a project: a namespace with limits, a pool, and an API key, which is shown once")
    .argument("<name>", "name of the project and its namespace")
    .option("--image <name>", "image of the sandboxes: hookbox-agent, or one that is built on it")
    .option("--no-pool", "create no pool and no template: you create your own")
    .option("--size <n>", "sandboxes of the pool that wait for clients", "2")
    .option("--storage <size>", "volume for the home directory, so that sandboxes can be paused, such as 2Gi")
    .option("--root", "let programs in sandboxes become root; the nodes need user namespaces")
    .option("--host-users", "with --root: use no user namespaces, so root of a sandbox is root of its node")
    .option("--sandboxes <n>", "most sandboxes at a time", "20")
    .option("--cpu <quantity>", "CPUs of a sandbox", "1")
    .option("--memory <quantity>", "memory of a sandbox", "1Gi")
    .option("--key <name>", "name of the API key", "default")
    .option("--system-namespace <name>", "namespace of the binder", "hookbox-system")
    .option("--dry-run", "print the objects as YAML, and change nothing")
    .action(async (name: string) => {
      const options = optionsOf<CreateProjectOptions>(command);
      checkName("project", name);
      checkKeyName(options.key);
      if (options.pool && options.image === undefined) {
        throw new UsageError("Cannot create a pool without an image: add --image, or --no-pool");
      }
      const unused = (["image", "storage", "root"] as const).find((option) => options[option] !== undefined);
      if (!options.pool && unused) throw new UsageError(`Cannot use --${unused} with --no-pool: it is for the pool`);
      if (options.hostUsers && !options.root) throw new UsageError("Cannot use --host-users without --root");
      for (const option of ["cpu", "memory", "storage"] as const) checkQuantity(`--${option}`, options[option]);
      const objects = projectObjects({
        ...options,
        name,
        image: options.pool ? options.image : undefined,
        sandboxes: wholeNumber("--sandboxes", options.sandboxes, 1),
        poolSize: wholeNumber("--size", options.size, 0),
        storage: options.storage,
        root: options.root ? options.hostUsers ? "host" : "namespaced" : undefined,
      });
      if (options.dryRun) {
        for (const object of objects) context.stdout.write(`---\n${await serialize(object, "yaml")}`);
        return;
      }
      const { api } = await context.connectCluster(options);
      await checkNamespace(api, name);
      const apply = createApplier(api, { dryRun: false, force: true });
      const changes: string[] = [];
      for (const object of objects) {
        const before = await existing(api, object);
        context.stderr.write(`${nameOf(object)} ${await apply(object)}\n`);
        if (before) changes.push(...changesOf(before, object));
        if (object.kind === "Namespace") await createRuntimeKey(api, name);
      }
      const quota = objects.find(({ kind }) => kind === "ResourceQuota");
      if (quota) await untilCounted(context, api, quota, apply);
      for (const change of changes) context.stderr.write(`Changed: ${change}\n`);
      const keys = await listKeys(api, name);
      if (keys.some((key) => key.name === options.key)) {
        context.stderr.write(`API key "${options.key}" exists already, and is not shown again.\n`);
        return;
      }
      await showKey(context, api, name, options.key, RIGHTS);
    });
  return withKubeconfig(command);
}

/** @throws {Failure} if the namespace exists and is no project: its objects would be changed */
async function checkNamespace(api: Api, name: string): Promise<void> {
  const answer = await api.send({ method: "GET", path: pathOf({ resource: "namespaces", name }) });
  if (answer.status === 404) return;
  if (!isOk(answer)) throw new Failure(`Cannot create project ${name}: ${messageOf(answer)}`);
  const { labels = {} } = (answer.body as KubeObject).metadata;
  if (labels[PROJECT_LABEL] === "true") return;
  const remedy = `To make it one: kubectl label namespace ${name} ${PROJECT_LABEL}=true`;
  throw new Failure(`Cannot create project ${name}: a namespace of this name exists and is not a project`, remedy);
}

/** The kinds about which options decide. */
const DECIDED = new Map(
  [
    ["ResourceQuota", "resourcequotas"],
    ["SandboxTemplate", "sandboxtemplates"],
    ["SandboxWarmPool", "sandboxwarmpools"],
  ] as const,
);

/** Returns an object as it is; undefined: there is none, or no option decides about its kind. */
async function existing(
  api: Api,
  { kind, metadata: { namespace, name } }: KubeObject,
): Promise<KubeObject | undefined> {
  const resource = DECIDED.get(kind as "ResourceQuota");
  if (resource === undefined || namespace === undefined) return undefined;
  const answer = await api.send({ method: "GET", path: pathOf({ resource, namespace, name }) });
  return isOk(answer) ? answer.body as KubeObject : undefined;
}

/** Creates the key from which the tokens of runtimes follow, unless it exists. */
async function createRuntimeKey(api: Api, namespace: string): Promise<void> {
  const body = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: RUNTIME_KEY_SECRET, namespace },
    data: { key: btoa(randomBytes(32).toString("base64")) },
  };
  const answer = await api.send({ method: "POST", path: pathOf({ resource: "secrets", namespace }), body });
  if (!isOk(answer) && answer.status !== 409) {
    throw new Failure(`Cannot create Secret ${RUNTIME_KEY_SECRET}: ${messageOf(answer)}`);
  }
}

const POLL_MS = 500;
/** Kubernetes looks every 30 seconds for new kinds to count. */
const COUNTED_WITHIN_MS = 90_000;
/** How long it may take to count a quota of kinds that Kubernetes knows. */
const RECREATED_AFTER_MS = 10_000;

/**
 * Waits until Kubernetes counts the claims of the project: until then, it refuses all. If the CRDs are younger than the
 * last look of Kubernetes, it would count this quota only after five minutes, so the quota is created again.
 *
 * @throws {Failure} after 90 s
 */
async function untilCounted(
  context: CommandContext,
  api: Api,
  quota: KubeObject,
  apply: (object: KubeObject) => Promise<unknown>,
): Promise<void> {
  const { namespace = "", name } = quota.metadata;
  const begun = performance.now();
  let createdAt = begun;
  await spinning(context, "Waiting for the quota", async () => {
    while ((await usageOf(api, namespace)).used === undefined) {
      const now = performance.now();
      if (now - begun > COUNTED_WITHIN_MS) {
        const remedy = `Look at it: kubectl describe resourcequota -n ${namespace}. Then run this command again.`;
        throw new Failure(`Cannot use project ${namespace} yet: Kubernetes has not counted its quota`, remedy);
      }
      if (now - createdAt > RECREATED_AFTER_MS) {
        createdAt = now;
        await api.send({ method: "DELETE", path: pathOf({ resource: "resourcequotas", namespace, name }) });
        await apply(quota);
      }
      await pause(POLL_MS, context.signal);
    }
  });
}

function createList(context: CommandContext): Command {
  const command = new Command("list")
    .description("List projects")
    .option("-o, --output <format>", "json or yaml")
    .action(async () => {
      const options = optionsOf<{ output?: string }>(command);
      const format = formatOf(options.output, ["json", "yaml"]);
      const { api } = await context.connectCluster(options);
      const query = { labelSelector: `${PROJECT_LABEL}=true` };
      const answer = await api.send({ method: "GET", path: pathOf({ resource: "namespaces" }), query });
      if (!isOk(answer)) throw new Failure(`Cannot list projects: ${messageOf(answer)}`);
      const projects = await Promise.all((answer.body as { items: KubeObject[] }).items.map(async ({ metadata }) => {
        const { name, creationTimestamp = "" } = metadata;
        return { name, ...await usageOf(api, name), keys: (await listKeys(api, name)).length, creationTimestamp };
      }));
      if (format === "json" || format === "yaml") return context.stdout.write(await serialize(projects, format));
      if (projects.length === 0) return context.stderr.write("No projects found.\n");
      const now = context.now();
      context.stdout.write(renderTable(
        ["NAME", "SANDBOXES", "MOST", "KEYS", "AGE"],
        projects.map(({ name, used, hard, keys, creationTimestamp }) => [
          ...[name, used ?? NONE, hard ?? NONE, String(keys)],
          ageOf(creationTimestamp, now),
        ]),
      ));
    });
  return withKubeconfig(command);
}

const NONE = "<none>";

/** Returns how many sandboxes a project has, and may have at most; absent: it has no quota. */
async function usageOf(api: Api, namespace: string): Promise<{ used?: string; hard?: string }> {
  const answer = await api.send({ method: "GET", path: pathOf({ resource: "resourcequotas", namespace }) });
  if (!isOk(answer)) return {};
  const { items } = answer.body as { items: Quota[] };
  const { used, hard } = quotaUses(items).find(({ resource }) => resource === COUNTED_CLAIMS) ?? {};
  return { ...used === undefined ? {} : { used }, ...hard === undefined ? {} : { hard } };
}

/** @throws {UsageError} if it is no quantity above 0 */
function checkQuantity(option: string, text: string | undefined): void {
  if (text === undefined || quantity(text) > 0) return;
  throw new UsageError(`Cannot use ${option} "${text}": a quantity of Kubernetes is needed, such as 500m or 1Gi`);
}
