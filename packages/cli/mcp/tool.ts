/** What a tool of the server is, and how its outcome is told. Knows no single tool. @module */
import type { CallToolResult, ContentBlock, ToolAnnotations } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import { SandboxError } from "../../sdk/errors.ts";
import type { Session } from "./session.ts";

/** One call of a tool. */
export interface Call {
  session: Session;
  /** Fires when the client cancels the call, or is gone. */
  signal: AbortSignal;
  /** Tells the client how far it is, where it wants to know. */
  progress: (message: string) => void;
}

/** What comes of it. */
export interface Reply<T> {
  data: T;
  /** What the model reads. */
  content: ContentBlock[];
  /** It is a failure nevertheless. */
  isError?: boolean;
}

/** A tool. */
export interface Tool<In extends z.ZodRawShape = z.ZodRawShape, Out extends z.ZodRawShape = z.ZodRawShape> {
  name: string;
  title: string;
  /** For the model: what it does, and what to know before it is called. */
  description: string;
  input: In;
  output: Out;
  hints: Required<Omit<ToolAnnotations, "title">>;
  run(input: z.output<z.ZodObject<In>>, call: Call): Promise<Reply<z.input<z.ZodObject<Out>>>>;
}

/** Takes a tool with its types checked, and forgets them. */
export function defineTool<In extends z.ZodRawShape, Out extends z.ZodRawShape>(tool: Tool<In, Out>): Tool {
  return tool as unknown as Tool;
}

/** Changes nothing. */
export const READS: Tool["hints"] = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};
/** Changes something; what was there before is not lost. */
export const ADDS: Tool["hints"] = { ...READS, readOnlyHint: false, idempotentHint: false };
/** What was there before may be lost; twice is as once. */
export const REPLACES: Tool["hints"] = { ...ADDS, destructiveHint: true, idempotentHint: true };
/** Runs whatever the agent has written. */
export const RUNS: Tool["hints"] = { ...ADDS, destructiveHint: true, openWorldHint: true };

/** The parameter that names a sandbox. */
export const SANDBOX = z.string().min(1).describe("Name of the sandbox, as create_sandbox and list_sandboxes give it");

/** Makes content of a text. */
export function text(text: string): ContentBlock {
  return { type: "text", text: text.toWellFormed() };
}

/** Runs a tool; what it throws is told as a result that an agent can act on. */
export async function callTool(tool: Tool, input: Record<string, unknown>, call: Call): Promise<CallToolResult> {
  try {
    const { data, content, isError } = await tool.run(input, call);
    return { content, structuredContent: data, ...isError ? { isError } : {} };
  } catch (error) {
    return failure(error);
  }
}

/** Message and remedy for the model, code and reason for programs; never a stack. */
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
