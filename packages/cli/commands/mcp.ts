/** `hookbox mcp`: offers sandboxes as tools to an agent, by the Model Context Protocol. @module */
import { realpath, stat } from "node:fs/promises";
import type { Command } from "commander";
import type { KubeObject } from "../../api/objects/objects.ts";
import { type Api, pathOf } from "../../kube/api.ts";
import { systemClock } from "../../process/clock.ts";
import { callAPI } from "../../sdk/control/kube.ts";
import type { CommandContext, ConnectionOptions } from "../commandcontext.ts";
import { UsageError } from "../failure.ts";
import { anonymousAccess, type Authenticate, parseAddress, tokensIn } from "../mcp/access.ts";
import { type HTTPOptions, serveHTTP } from "../mcp/http.ts";
import { createSessionServer, serveStdio, type SessionServer } from "../mcp/server.ts";
import type { Scope } from "../mcp/session.ts";
import { collect, durationMs, optionsOf, pairs, wholeNumber, withRouter } from "../options.ts";

/** Values of the options, as the user wrote them. */
interface MCPOptions {
  pool?: string[];
  allowImages?: boolean;
  selector?: string;
  lifetime?: string;
  maxLifetime?: string;
  maxSandboxes?: string;
  deleteOnExit?: boolean;
  localRoot?: string;
  user?: string;
  http?: string;
  tokenFile?: string;
  allowAnonymous?: boolean;
  allowedOrigin?: string[];
  allowedHost?: string[];
  maxSessions?: string;
  sessionIdle?: string;
}

/** Defaults of the options. */
const MCP_DEFAULTS = {
  lifetime: "1h",
  maxLifetime: "24h",
  maxSandboxes: "10",
  maxSessions: "64",
  sessionIdle: "30m",
};

const MORE = `
Without --http, uses standard input and output, for an agent on this machine that starts it. A session can use only
sandboxes that it has created, and those of --selector; all are in one namespace. A sandbox is deleted at the end of its
lifetime, even if the session has ended before.

Over HTTP, every request needs a token of --token-file (one per line, 16 characters or more, read again for each request)
as "Authorization: Bearer TOKEN". Without tokens, it listens only on loopback, and only with --allow-anonymous. Traffic
is not encrypted: on other addresses, put a proxy with TLS in front of it. See docs/mcp.md.

Examples:
  hookbox mcp --pool python                                     in the configuration of an agent
  hookbox mcp --http 127.0.0.1:8765 --token-file tokens --pool python`;

export function defineMcp(command: Command, context: CommandContext): void {
  command
    .option(
      "--pool <name>",
      "use only this pool; can be repeated, the first one is the default (default: any)",
      collect,
    )
    .option("--allow-images", "allow agents to start container images of their choice")
    .option("-l, --selector <labels>", "allow sessions to use also sandboxes with all these labels: KEY=VALUE,…")
    .option(
      "--lifetime <time>",
      `lifetime of a sandbox if the agent sets none (default: ${MCP_DEFAULTS.lifetime})`,
    )
    .option(
      "--max-lifetime <time>",
      `longest lifetime that the agent can set, from that moment (default: ${MCP_DEFAULTS.maxLifetime})`,
    )
    .option("--max-sandboxes <n>", `largest number of sandboxes of a session (default: ${MCP_DEFAULTS.maxSandboxes})`)
    .option("--delete-on-exit", "delete a session's sandboxes when it ends (the default without --http)")
    .option("--no-delete-on-exit", "keep them until the end of their lifetime (the default with --http)")
    .option("--local-root <dir>", "allow the agent to copy files from and to this folder; not with --http")
    .option("-u, --user <name>", "run everything as this user of the sandboxes, if their template allows it")
    .option("--http <address>", "listen on HOST:PORT, at /mcp")
    .option("--token-file <file>", "file with the tokens of clients")
    .option("--allow-anonymous", "allow every program on this machine to connect; only on loopback")
    .option("--allowed-origin <origin>", "allow web pages of this origin; can be repeated", collect)
    .option(
      "--allowed-host <host>",
      "host name of the server; can be repeated (default on loopback: its names)",
      collect,
    )
    .option("--max-sessions <n>", `largest number of sessions at a time (default: ${MCP_DEFAULTS.maxSessions})`)
    .option(
      "--session-idle <time>",
      `end a session after this time without use (default: ${MCP_DEFAULTS.sessionIdle})`,
    )
    .addHelpText("after", MORE)
    .action(async () => {
      await runMCP(context, optionsOf<MCPOptions>(command));
    });
  withRouter(command);
}

const NEEDS_HTTP = [
  "tokenFile",
  "allowAnonymous",
  "allowedOrigin",
  "allowedHost",
  "maxSessions",
  "sessionIdle",
] as const;

/**
 * Serves until the client disconnects or the process is stopped.
 *
 * @throws {UsageError} if options contradict each other
 */
async function runMCP(context: CommandContext, options: MCPOptions & ConnectionOptions): Promise<void> {
  const limits = limitsOf(options);
  const localRoot = await folderOf(options.localRoot);
  const listening = options.http === undefined ? undefined : await listenOptionsOf(options.http, options);
  const { api, namespace: found } = await context.connectCluster(options);
  const namespace = options.namespace ?? (context.env["HOOKBOX_NAMESPACE"] || found);
  const { client } = await context.connect({ ...options, namespace });
  const scope: Scope = { ...limits, localRoot, findPools: (signal) => listPools(api, namespace, signal) };
  const makeServer = () => createSessionServer(client, scope);
  if (listening) await overHTTP(context, makeServer, listening);
  else await overStdio(context, makeServer());
}

/** Reads the limits of sessions. @throws {UsageError} */
function limitsOf(options: MCPOptions): Omit<Scope, "findPools" | "localRoot"> {
  const { pool: pools = [], allowImages = false, selector, http, localRoot, user } = options;
  for (const name of http === undefined ? NEEDS_HTTP : []) {
    if (options[name] !== undefined) throw new UsageError(`Cannot use ${flagOf(name)} without --http`);
  }
  if (http !== undefined && localRoot !== undefined) {
    throw new UsageError("Cannot use --local-root with --http: clients could read files of this machine");
  }
  const maxLifetimeMs = durationMs("--max-lifetime", options.maxLifetime ?? MCP_DEFAULTS.maxLifetime);
  const labels = selector?.split(",").map((part) => part.trim().replace("==", "=")) ?? [];
  if (labels.some((label) => label.includes("!="))) {
    throw new UsageError(`Cannot use --selector "${selector}": only KEY=VALUE selects, and all must match`);
  }
  return {
    pools,
    allowImages,
    maxLifetimeMs,
    lifetimeMs: Math.min(durationMs("--lifetime", options.lifetime ?? MCP_DEFAULTS.lifetime), maxLifetimeMs),
    maxSandboxes: wholeNumber("--max-sandboxes", options.maxSandboxes ?? MCP_DEFAULTS.maxSandboxes, 1),
    selector: pairs("--selector", labels),
    user,
    deleteOnExit: options.deleteOnExit ?? http === undefined,
  };
}

async function folderOf(localRoot: string | undefined): Promise<string | undefined> {
  if (localRoot === undefined) return undefined;
  const isFolder = await stat(localRoot).then((found) => found.isDirectory(), () => false);
  if (isFolder) return await realpath(localRoot);
  throw new UsageError(`Cannot use --local-root "${localRoot}": it is not a folder`);
}

async function overStdio({ stdin, stdout, stderr, signal }: CommandContext, made: SessionServer): Promise<void> {
  if (stdin.isTTY) stderr.write("Waiting for messages of an agent on standard input. Press Ctrl-D to end.\n");
  const deleted = await serveStdio(made, stdin, stdout, signal);
  if (deleted.length > 0) stderr.write(`Deleted ${deleted.join(", ")}.\n`);
}

type ListenOptions = Omit<HTTPOptions, "makeServer" | "note" | "clock">;

/** Reads the address to listen on, and who has access. @throws {UsageError} */
async function listenOptionsOf(http: string, options: MCPOptions): Promise<ListenOptions> {
  const address = parseAddress(http);
  return {
    address,
    authenticate: await authenticationOf(options, address.isLoopback),
    sources: { hosts: options.allowedHost ?? [], origins: options.allowedOrigin ?? [] },
    limits: {
      most: wholeNumber("--max-sessions", options.maxSessions ?? MCP_DEFAULTS.maxSessions, 1),
      idleMs: durationMs("--session-idle", options.sessionIdle ?? MCP_DEFAULTS.sessionIdle),
    },
  };
}

async function overHTTP(
  { stderr, signal }: CommandContext,
  makeServer: () => SessionServer,
  listening: ListenOptions,
): Promise<void> {
  const note = (line: string) => stderr.write(`${line}\n`);
  const server = await serveHTTP({ ...listening, makeServer, note, clock: systemClock });
  note(`listening at ${server.url}`);
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  await server.stop();
}

/** Requires a token, unless the address is loopback or the user allows anonymous access. @throws {UsageError} */
async function authenticationOf({ tokenFile, allowAnonymous }: MCPOptions, isLoopback: boolean): Promise<Authenticate> {
  if (tokenFile !== undefined) {
    if (!allowAnonymous) return await tokensIn(tokenFile);
    throw new UsageError("Cannot use --token-file and --allow-anonymous together");
  }
  if (!allowAnonymous) throw new UsageError("Cannot listen without tokens: use --token-file");
  if (isLoopback) return anonymousAccess;
  throw new UsageError("Cannot allow anonymous access from other machines: use --token-file, or listen on loopback");
}

function flagOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Returns the names of the pools in a namespace, without those that are being deleted. */
export async function listPools(api: Api, namespace: string, signal: AbortSignal): Promise<string[]> {
  const { items } = await callAPI<{ items: KubeObject[] }>(api, {
    method: "GET",
    path: pathOf({ resource: "sandboxwarmpools", namespace }),
    action: "list pools",
    object: { kind: "SandboxWarmPool", namespace, name: "" },
    signal,
  });
  return items.filter(({ metadata }) => !metadata.deletionTimestamp).map(({ metadata }) => metadata.name);
}
