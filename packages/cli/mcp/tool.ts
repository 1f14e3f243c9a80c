/** Defines what a tool of the MCP server is, and how its results and errors are returned. @module */
import type { CallToolResult, ContentBlock, ToolAnnotations } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import { SandboxError } from "../../sdk/errors.ts";
import type { Session } from "./session.ts";

/** One call of a tool. */
export interface Call {
  session: Session;
  /** Aborts when the client cancels the call or disconnects. */
  signal: AbortSignal;
  /** Reports the progress to the client, if the client wants it. */
  progress: (message: string) => void;
}

/** The result of a call. */
export interface Reply<T> {
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
  output: Out;
  hints: Required<Omit<ToolAnnotations, "title">>;
  run(input: z.output<z.ZodObject<In>>, call: Call): Promise<Reply<z.input<z.ZodObject<Out>>>>;
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

/** The parameter that names a sandbox. */
export const SANDBOX = z.string().min(1).describe("Name of the sandbox, as create_sandbox and list_sandboxes give it");

/** Creates text content. */
export function text(text: string): ContentBlock {
  return { type: "text", text: text.toWellFormed() };
}

/** Runs a tool. An error is returned as a result, so that the agent can act on it. */
export async function callTool(tool: Tool, input: Record<string, unknown>, call: Call): Promise<CallToolResult> {
  try {
    const { data, content, isError } = await tool.run(input, call);
    return { content, structuredContent: data, ...isError ? { isError } : {} };
  } catch (error) {
    return failure(error);
  }
}

/** Creates the result for an error: message and remedy for the model, code and reason for programs; no stack. */
export function failure(error: unknown): CallToolResult {
  const message = error instanceof Error ? error.message : String(error);
  const content = [text(/[.!?]$/.test(message) ? message : `${message}.`)];
  if (!(error instanceof SandboxError)) return { content, isError: true };
  const { code, reason, object } = error;
  return {
    content,
    isError: true,
    _meta: { error: { code, ...reason ? { reason } : {}, ...object ? { object } : {} } },
  };
}
