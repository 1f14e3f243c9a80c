/** Defines what a tool of the MCP server is, and how its results and errors are returned. @module */
import type { CallToolResult, ContentBlock, ToolAnnotations } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import { SandboxError } from "../../sdk/errors.ts";
import type { SandboxHandle } from "../../sdk/sandbox.ts";
import { clipped, readable } from "./output.ts";
import type { Session } from "./session.ts";

/** One call of a tool. */
interface ToolCall {
  session: Session;
  /** Opens a sandbox as `session.open` does. If that has resumed the sandbox, the result reports it. */
  open(name: string): Promise<SandboxHandle>;
  /** Aborts when the client cancels the call or disconnects. */
  signal: AbortSignal;
  /** User of the sandbox that the call runs as. Undefined: the user that the template chooses. */
  user: string | undefined;
  /** Reports the progress to the client, if the client wants it. */
  progress: (message: string) => void;
}

/** The result of a call. */
interface ToolReply<T> {
  /** Facts for programs. */
  data: T;
  /** What the model reads. */
  content: ContentBlock[];
  /** Whether it is a failure. */
  isError?: boolean;
}

/** A tool. */
export interface Tool<In extends z.ZodRawShape = z.ZodRawShape, Out extends z.ZodRawShape = z.ZodRawShape> {
  name: string;
  title: string;
  /** For the model: what the tool does, and what to know before calling it. */
  description: string;
  input: In;
  /**
   * Schema of `data`, which is then the structured content. Undefined for tools that return images, or text of any
   * length: Claude Code, Codex and others give the model the structured content in place of the content, and others give
   * it both. Then `data` is in `_meta.result`.
   *
   * Source: https://github.com/anthropics/claude-code/issues/79944, https://github.com/anomalyco/opencode/pull/32074
   */
  output?: Out;
  hints: Required<Omit<ToolAnnotations, "title">>;
  run(input: z.output<z.ZodObject<In>>, call: ToolCall): Promise<ToolReply<z.input<z.ZodObject<Out>>>>;
}

/** Checks the types of a tool, and returns it without its type parameters. */
export function defineTool<In extends z.ZodRawShape, Out extends z.ZodRawShape>(tool: Tool<In, Out>): Tool {
  return tool as unknown as Tool;
}

/** For tools that change nothing. */
export const READS: Tool["hints"] = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};
/** For tools that change something, but do not destroy existing data. */
export const ADDS: Tool["hints"] = { ...READS, readOnlyHint: false, idempotentHint: false };
/** For tools that may destroy existing data. Repeating a call has no further effect. */
export const REPLACES: Tool["hints"] = { ...ADDS, destructiveHint: true, idempotentHint: true };
/** For tools that run code or commands of the agent. */
export const RUNS: Tool["hints"] = { ...ADDS, destructiveHint: true, openWorldHint: true };

/**
 * Default time limit of commands and code, in milliseconds. Many clients give up after 60 s, as those with the SDK of MCP
 * do by default. The model would then not see what was printed until the limit.
 */
export const TIMEOUT_MS = 50_000;

/** The parameter that names a sandbox. */
export const SANDBOX = z.string().min(1).describe("Name of the sandbox, as create_sandbox and list_sandboxes give it");

/** Creates text content. */
export function text(text: string): ContentBlock {
  return { type: "text", text: text.toWellFormed() };
}

const RESUMED =
  "[The sandbox was suspended and has been resumed: its processes, the variables of its interpreters, and " +
  "files outside of volumes are lost.]";

/** Runs a tool. An error is returned as a result, so that the agent can act on it. */
export async function callTool(
  tool: Tool,
  input: Record<string, unknown>,
  given: Omit<ToolCall, "open">,
): Promise<CallToolResult> {
  const { session, signal } = given;
  let opened = "";
  const open = async (name: string) => {
    opened = name;
    return await session.open(name, signal);
  };
  const result = await tool.run(input, { ...given, open }).then(
    ({ data, content, isError }): CallToolResult => ({
      content,
      ...tool.output ? { structuredContent: data } : { _meta: { result: data } },
      ...isError ? { isError } : {},
    }),
    failure,
  );
  // The model might not read the content if there is structured content. Then a later result reports it.
  if (result.structuredContent || !session.resumed.delete(opened)) return result;
  return { ...result, content: [text(RESUMED), ...result.content] };
}

/** Largest length of the message of an error, in characters. */
const MOST_MESSAGE = 4000;

/** Creates the result for an error: message and remedy for the model, code and reason for programs; no stack. */
function failure(error: unknown): CallToolResult {
  // A sandbox decides what some messages contain.
  const message = clipped(readable(error instanceof Error ? error.message : String(error)), MOST_MESSAGE);
  const content = [text(/[.!?]$/.test(message) ? message : `${message}.`)];
  if (!(error instanceof SandboxError)) return { content, isError: true };
  const { code, reason, object } = error;
  return {
    content,
    isError: true,
    _meta: { error: { code, ...reason ? { reason } : {}, ...object ? { object } : {} } },
  };
}
