/** Defines what a tool of the MCP server is, and how its results and errors are returned and shortened. @module */
import type { CallToolResult, ContentBlock, ToolAnnotations } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import { SandboxError } from "../../sdk/errors.ts";
import type { Session } from "./session.ts";

/** One call of a tool. */
interface ToolCall {
  session: Session;
  /** Aborts when the client cancels the call or disconnects. */
  signal: AbortSignal;
  /** User of the sandbox that the call runs as. Undefined: the user that the template chooses. */
  user: string | undefined;
  /** Reports the progress to the client, if the client wants it. */
  progress: (message: string) => void;
}

/** The result of a call. */
interface ToolReply<T> {
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

/** The parameter that names a sandbox. */
export const SANDBOX = z.string().min(1).describe("Name of the sandbox, as create_sandbox and list_sandboxes give it");

/** Creates text content. */
export function text(text: string): ContentBlock {
  return { type: "text", text: text.toWellFormed() };
}

/** Runs a tool. An error is returned as a result, so that the agent can act on it. */
export async function callTool(tool: Tool, input: Record<string, unknown>, call: ToolCall): Promise<CallToolResult> {
  try {
    const { data, content, isError } = await tool.run(input, call);
    return { content, structuredContent: data, ...isError ? { isError } : {} };
  } catch (error) {
    return failure(error);
  }
}

/** Creates the result for an error: message and remedy for the model, code and reason for programs; no stack. */
function failure(error: unknown): CallToolResult {
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

/** A text that is kept up to a limited size. */
export interface Clip {
  add(piece: string): void;
  /** Returns the kept text. A line replaces the removed part and says how long it was. */
  text(): string;
  isClipped(): boolean;
}

/**
 * Creates a clip that keeps `limit` characters: half from the beginning and half from the end, because an error is at
 * the end and its cause at the beginning.
 */
export function createClip(limit: number): Clip {
  const half = Math.ceil(limit / 2);
  let head = "";
  let tail = "";
  let length = 0;
  const isClipped = () => length > limit;
  return {
    isClipped,
    add(piece) {
      length += piece.length;
      const room = half - head.length;
      head += copied(piece.slice(0, room));
      tail += copied(piece.slice(Math.max(0, room)).slice(-limit));
      // Shortened only now and then, because doing it for each piece is slow.
      if (tail.length > 4 * limit) tail = tail.slice(-limit);
    },
    text() {
      if (!isClipped()) return (head + tail).toWellFormed();
      const end = tail.slice(-(limit - half) || tail.length);
      const left = length - head.length - end.length;
      return `${head}\n[… ${left} characters left out …]\n${end}`.toWellFormed();
    },
  };
}

/** Copies a slice. JavaScript engines keep the whole text of a slice in memory, which may be 64 MiB. */
function copied(slice: string): string {
  return ` ${slice}`.slice(1);
}

/** Clips a whole text. */
export function clipped(text: string, limit: number): string {
  const clip = createClip(limit);
  clip.add(text);
  return clip.text();
}
