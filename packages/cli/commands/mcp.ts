/** `hookbox mcp`: offers sandboxes as tools to an agent, by the Model Context Protocol. @module */
import { Command } from "commander";
import { optionsOf, withRouter } from "../clusteroptions.ts";
import { collect } from "../values.ts";
import type { CommandContext } from "../commandcontext.ts";

/** Values of the options, as the user wrote them. */
export interface MCPOptions {
  pool?: string[];
  allowImages?: boolean;
  selector?: string;
  lifetime?: string;
  maxLifetime?: string;
  maxSandboxes?: string;
  deleteOnExit?: boolean;
  localRoot?: string;
  http?: string;
  tokenFile?: string;
  allowAnonymous?: boolean;
  allowedOrigin?: string[];
  allowedHost?: string[];
  maxSessions?: string;
  sessionIdle?: string;
}

/** Defaults of the options. */
export const MCP_DEFAULTS = {
  lifetime: "1h",
  maxLifetime: "24h",
  maxSandboxes: "10",
  maxSessions: "64",
  sessionIdle: "30m",
};

const MORE = `
Without --http it speaks over standard input and output, for an agent on this machine that starts it. A session can use
only sandboxes that it has made, and those of --selector; all are in one namespace. What it has made is deleted when its
lifetime is over, whatever becomes of the session.

Over HTTP every request needs a token of --token-file (one in each line, 16 characters or more, read anew each time) as
"Authorization: Bearer TOKEN". Without tokens it listens on loopback only, and only with --allow-anonymous. Traffic is
not encrypted: elsewhere than on loopback put a proxy with TLS before it. See docs/mcp.md.

Examples:
  hookbox mcp --pool python                                     in the configuration of an agent
  hookbox mcp --http 127.0.0.1:8765 --token-file tokens --pool python`;

export function mcpCommand(context: CommandContext): Command {
  const command = new Command("mcp")
    .description("Serve sandboxes as tools to agents (Model Context Protocol)")
    .option("--pool <name>", "only from this pool; again for more, the first is the default (default: any)", collect)
    .option("--allow-images", "let agents start container images of their choice, too")
    .option("-l, --selector <labels>", "let sessions use sandboxes with all these labels, too: KEY=VALUE,…")
    .option(
      "--lifetime <time>",
      `how long a sandbox lives unless the agent says otherwise (default: ${MCP_DEFAULTS.lifetime})`,
    )
    .option(
      "--max-lifetime <time>",
      `how long it may live at most, from when that was said (default: ${MCP_DEFAULTS.maxLifetime})`,
    )
    .option("--max-sandboxes <n>", `sandboxes that a session may have (default: ${MCP_DEFAULTS.maxSandboxes})`)
    .option("--delete-on-exit", "delete a session's sandboxes when it ends (the default without --http)")
    .option("--no-delete-on-exit", "leave them until their lifetime is over (the default with --http)")
    .option("--local-root <dir>", "let the agent copy files from and to this folder; not with --http")
    .option("--http <address>", "listen on HOST:PORT, at /mcp")
    .option("--token-file <file>", "tokens of those who may talk to it")
    .option("--allow-anonymous", "everybody on this machine may talk to it; on loopback only")
    .option("--allowed-origin <origin>", "let web pages of this origin in; again for more", collect)
    .option("--allowed-host <host>", "a name by which it is reached (default on loopback: its names)", collect)
    .option("--max-sessions <n>", `sessions at a time (default: ${MCP_DEFAULTS.maxSessions})`)
    .option(
      "--session-idle <time>",
      `end a session that nobody uses for so long (default: ${MCP_DEFAULTS.sessionIdle})`,
    )
    .addHelpText("after", MORE)
    .action(async () => {
      const { runMCP } = await import("../mcp.ts");
      await runMCP(context, optionsOf<MCPOptions>(command));
    });
  return withRouter(command);
}
