/** Serves MCP as the command line options say: over the streams of the process, or over HTTP. @module */
import { realpath, stat } from "node:fs/promises";
import { systemClock } from "../process/clock.ts";
import { parseAddress } from "./mcp/http/address.ts";
import { anybody, type Authenticate, tokensIn } from "./mcp/http/access.ts";
import { type HTTPOptions, serveHTTP } from "./mcp/http.ts";
import { listPools } from "./mcp/pools.ts";
import type { Scope } from "./mcp/scope.ts";
import { createSessionServer, type SessionServer } from "./mcp/server.ts";
import { serveStdio } from "./mcp/stdio.ts";
import { MCP_DEFAULTS, type MCPOptions } from "./commands/mcp.ts";
import { UsageError } from "./failure.ts";
import { durationMs, pairs, wholeNumber } from "./values.ts";
import type { CommandContext, Where } from "./commandcontext.ts";

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
export async function runMCP(context: CommandContext, options: MCPOptions & Where): Promise<void> {
  const limits = limitsOf(options);
  const localRoot = await folderOf(options.localRoot);
  const listening = options.http === undefined ? undefined : await listenOptionsOf(options.http, options);
  const { api, namespace: found } = await context.reach(options);
  const namespace = options.namespace ?? (context.env["HOOKBOX_NAMESPACE"] || found);
  const { client } = await context.connect({ ...options, namespace });
  const scope: Scope = { ...limits, localRoot, findPools: (signal) => listPools(api, namespace, signal) };
  const makeServer = () => createSessionServer(client, scope);
  if (listening) await overHTTP(context, makeServer, listening);
  else await overStdio(context, makeServer());
}

/** Reads the limits of sessions. @throws {UsageError} */
function limitsOf(options: MCPOptions): Omit<Scope, "findPools" | "localRoot"> {
  const { pool: pools = [], allowImages = false, selector, http, localRoot } = options;
  for (const name of http === undefined ? NEEDS_HTTP : []) {
    if (options[name] !== undefined) throw new UsageError(`Cannot use ${flagOf(name)} without --http`);
  }
  if (http !== undefined && localRoot !== undefined) {
    throw new UsageError("Cannot use --local-root with --http: those who connect would read files of this machine");
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
  if (stdin.isTTY) stderr.write("Waiting for messages of an agent on standard input; Ctrl-D ends it.\n");
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
    throw new UsageError("Cannot use --token-file and --allow-anonymous together: name one");
  }
  if (!allowAnonymous) throw new UsageError("Cannot listen without tokens: give --token-file");
  if (isLoopback) return anybody;
  throw new UsageError("Cannot let everybody in from other machines: give --token-file, or listen on loopback");
}

function flagOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
