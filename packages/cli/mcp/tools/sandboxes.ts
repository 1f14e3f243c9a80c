/** MCP tools that create and manage sandboxes: list, delete, suspend, resume, set the lifetime, explain. @module */
import * as z from "zod";
import { AuthorizationError, InvalidArgumentError, NotFoundError, SandboxError } from "../../../sdk/errors.ts";
import type { Finding } from "../../../sdk/mod.ts";
import type { CreateOptions } from "../../../sdk/options.ts";
import type { Scope } from "../session.ts";
import { ADDS, defineTool, READS, REPLACES, SANDBOX, text, type Tool } from "../tool.ts";
import { SANDBOX_SCHEMA, sandboxData, sandboxLine } from "../visible.ts";

/** Creates the tool. Its parameters depend on the limits of sessions. */
export function createSandboxTool(scope: Scope): Tool {
  return defineTool({
    name: "create_sandbox",
    title: "Create a sandbox",
    description: "Creates an isolated sandbox for commands, code and files, and waits until it is Ready. " +
      `It is deleted after ${minutes(scope.lifetimeMs)} unless you set lifetimeMs` +
      `${scope.deleteOnExit ? ", and when this session ends" : ""}. ` +
      "Reuse one sandbox for related work; delete it with delete_sandbox when you are done.",
    input: {
      ...sourcesOf(scope),
      name: z.string().optional().describe("Up to 63 lower-case letters, digits and dashes. Default: random"),
      env: z.record(z.string(), z.string()).optional()
        .describe("Environment of its commands. The start is slower, and the template must allow it"),
      lifetimeMs: z.int().min(1000).max(scope.maxLifetimeMs).default(scope.lifetimeMs)
        .describe("How long it lives, in milliseconds from now"),
    },
    output: SANDBOX_SCHEMA,
    hints: ADDS,
    async run({ name, env, lifetimeMs, ...named }, { session, signal, progress }) {
      const source = await chooseSource(scope, named as Source, signal);
      const options: CreateOptions = {
        ...source,
        ...name === undefined ? {} : { name },
        ...env === undefined ? {} : { env },
        timeoutMs: lifetimeMs,
        onProgress: ({ reason, message }) => progress([reason, message].filter(Boolean).join(": ") || "Starting"),
      };
      const created = await session.create(options, signal).catch(async (error) => {
        throw await withPools(error, source, scope, signal);
      });
      const made = await session.look(created.name, signal);
      return { data: sandboxData(made), content: [text(`Created ${sandboxLine(made)}.`)] };
    },
  });
}

interface Source {
  pool?: string;
  template?: string;
  image?: string;
}

function sourcesOf({ pools, allowImages }: Scope) {
  const [first] = pools;
  const image = z.string().optional().describe("A container image to start, which must have hookbox's runtime in it");
  if (first !== undefined) {
    const pool = z.enum(pools).optional().describe(`Pool to take it from. Default: ${first}`);
    return allowImages ? { pool, image } : { pool };
  }
  const open = {
    pool: z.string().optional().describe("Pool to take it from. May be left out where there is but one"),
    template: z.string().optional().describe("SandboxTemplate to start it from, in place of a pool"),
  };
  return allowImages ? { ...open, image } : open;
}

/** Chooses the default if the agent names no source. The schema has already refused sources that are not allowed. */
async function chooseSource(scope: Scope, { pool, template, image }: Source, signal: AbortSignal): Promise<Source> {
  if (template !== undefined || image !== undefined) {
    // If the agent names two sources, the SDK reports the error.
    return { ...pool && { pool }, ...template && { template }, ...image && { image } };
  }
  if (pool !== undefined) return { pool };
  const [first] = scope.pools;
  if (first !== undefined) return { pool: first };
  const found = await scope.findPools(signal);
  const [only, second] = found;
  if (only === undefined) {
    throw new AuthorizationError("Cannot create a sandbox: there is no pool to take it from", {
      remedy: "Name a template, or ask the operator for a SandboxWarmPool.",
    });
  }
  if (second === undefined) return { pool: only };
  throw new InvalidArgumentError("Cannot create a sandbox: there are several pools, and none is named", {
    remedy: `Name one: ${found.slice(0, MOST_POOLS).join(", ")}.`,
  });
}

/** The SDK's own advice for a missing pool or template is a command for kubectl, which an agent need not have. */
async function withPools(
  error: unknown,
  { pool, template }: Source,
  scope: Scope,
  signal: AbortSignal,
): Promise<unknown> {
  const missing = pool === undefined ? { TemplateNotFound: template } : { WarmPoolNotFound: pool };
  const [[reason, name] = []] = Object.entries(missing);
  if (!(error instanceof SandboxError) || error.reason !== reason) return error;
  const pools = scope.pools.length > 0 ? scope.pools : await scope.findPools(signal).catch(() => []);
  const what = pool === undefined ? "template" : "pool";
  return new NotFoundError(`Cannot create a sandbox: there is no ${what} "${name}"`, {
    reason,
    remedy: pools.length > 0 ? `Name one of these pools: ${pools.slice(0, MOST_POOLS).join(", ")}.` : NO_POOL,
  });
}

const NO_POOL = "There is no pool. Ask the operator for a SandboxWarmPool.";
/** Largest number of pools that an error names. */
const MOST_POOLS = 50;

function minutes(ms: number): string {
  return ms < 60_000 ? `${ms / 1000} s` : `${Math.round(ms / 60_000)} minutes`;
}

/** Largest number of sandboxes in a list. */
const MOST_SANDBOXES = 100;

export const listSandboxes: Tool = defineTool({
  name: "list_sandboxes",
  title: "List sandboxes",
  description: "Lists the sandboxes that this session may use, with their state and when they will be deleted.",
  input: {},
  output: {
    sandboxes: z.array(z.object(SANDBOX_SCHEMA)),
    omitted: z.int().optional().describe("How many more there are"),
  },
  hints: READS,
  async run(_, { session, signal }) {
    const all = await session.list(signal);
    // Those of this session come first, because it may not know the others.
    const found = all.sort((a, b) => Number(b.isOwn) - Number(a.isOwn)).slice(0, MOST_SANDBOXES);
    const omitted = all.length - found.length;
    const lines = found.map(sandboxLine);
    if (all.length === 0) lines.push("There are no sandboxes. create_sandbox creates one.");
    if (omitted > 0) lines.push(`[${omitted} more sandboxes, which other sessions have created]`);
    return {
      data: { sandboxes: found.map(sandboxData), ...omitted > 0 ? { omitted } : {} },
      content: [text(lines.join("\n"))],
    };
  },
});

export const deleteSandbox: Tool = defineTool({
  name: "delete_sandbox",
  title: "Delete a sandbox",
  description: "Deletes a sandbox with all files in it and everything that runs in it. It cannot be undone.",
  input: { sandbox: SANDBOX },
  output: { deleted: z.boolean().describe("False: it was gone already") },
  hints: REPLACES,
  async run({ sandbox }, { session, signal }) {
    const deleted = await session.remove(sandbox, signal);
    return { data: { deleted }, content: [text(deleted ? `Deleted ${sandbox}.` : `There is no ${sandbox}.`)] };
  },
});

export const suspendSandbox: Tool = defineTool({
  name: "suspend_sandbox",
  title: "Suspend a sandbox",
  description: "Stops a sandbox and frees its resources. Its processes end, and files outside of volumes are " +
    "lost; name, lifetime and volumes stay. resume_sandbox, or the next use, starts it again.",
  input: { sandbox: SANDBOX },
  output: SANDBOX_SCHEMA,
  hints: REPLACES,
  async run({ sandbox }, { session, signal }) {
    await session.manage(sandbox, signal, (client, options) => client.suspend(sandbox, options));
    const after = await session.look(sandbox, signal);
    return { data: sandboxData(after), content: [text(sandboxLine(after))] };
  },
});

export const resumeSandbox: Tool = defineTool({
  name: "resume_sandbox",
  title: "Resume a sandbox",
  description: "Starts a suspended sandbox again and waits until it is Ready. One that runs stays as it is.",
  input: { sandbox: SANDBOX },
  output: SANDBOX_SCHEMA,
  hints: { ...ADDS, idempotentHint: true },
  async run({ sandbox }, { session, signal, progress }) {
    const onProgress = ({ reason, message }: { reason: string; message: string }) => progress(`${reason}: ${message}`);
    await session.manage(sandbox, signal, (client, options) => client.resume(sandbox, { ...options, onProgress }));
    const after = await session.look(sandbox, signal);
    return { data: sandboxData(after), content: [text(sandboxLine(after))] };
  },
});

/** Creates the tool that changes the lifetime of a sandbox. */
export function setLifetimeTool({ maxLifetimeMs }: Scope): Tool {
  return defineTool({
    name: "set_lifetime",
    title: "Set a sandbox's lifetime",
    description: "Sets the lifetime of a sandbox, from now on. At its end, the sandbox is deleted with all its files.",
    input: { sandbox: SANDBOX, lifetimeMs: z.int().min(1000).max(maxLifetimeMs).describe("Milliseconds from now") },
    output: { expiresAt: z.string().describe("RFC 3339") },
    hints: REPLACES,
    async run({ sandbox, lifetimeMs }, { session, signal }) {
      const set = await session.manage(
        sandbox,
        signal,
        (client, options) => client.setTimeout(sandbox, lifetimeMs, options),
      );
      const expiresAt = set?.toISOString() ?? "";
      return { data: { expiresAt }, content: [text(`${sandbox} will be deleted at ${expiresAt}.`)] };
    },
  });
}

export const why: Tool = defineTool({
  name: "why",
  title: "Explain a sandbox's state",
  description: "Explains the state of a sandbox (not Ready, failed, slow to start): root cause, evidence, what to do.",
  input: { sandbox: SANDBOX },
  output: {
    code: z.string().describe("The cause in one word"),
    isOk: z.boolean(),
    summary: z.string(),
    remedy: z.string(),
    hopeless: z.boolean().describe("Waiting alone cannot help"),
    since: z.string().optional(),
    evidence: z.array(z.object({ object: z.string(), where: z.string(), text: z.string() })),
  },
  hints: READS,
  async run({ sandbox }, { session, signal }) {
    const finding = await session.manage(sandbox, signal, (client, options) => client.why(sandbox, options));
    const { code, isOk, summary, remedy, hopeless, since } = finding;
    const evidence = evidenceOf(finding);
    const lines = [
      `${code}: ${summary}`,
      ...since === undefined ? [] : [`Since ${since}.`],
      ...evidence.map(({ object, where, text }) => `- ${object}, ${where}: ${text}`),
      ...isOk ? [] : [`What to do: ${remedy}`, hopeless ? "Waiting does not help." : "Waiting may help."],
    ];
    const data = { code, isOk, summary, remedy, hopeless, ...since === undefined ? {} : { since }, evidence };
    return { data, content: [text(lines.join("\n"))] };
  },
});

function evidenceOf({ evidence }: Finding) {
  return evidence.map(({ object, where, text }) => ({ object: `${object.kind} ${object.name}`, where, text }));
}
