/** The tool that runs code with results: text, tables, images. @module */
import type { ContentBlock } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import { TimeoutError } from "../../../sdk/errors.ts";
import type { Execution, Result } from "../../../sdk/code/execution.ts";
import { clipped } from "../clip.ts";
import { defineTool, RUNS, SANDBOX, text, type Tool } from "../tool.ts";

/** Characters of base64: larger images are left out, clients choke on them. */
const MOST_IMAGE = 4 << 20;
const IMAGES = { png: "image/png", jpeg: "image/jpeg" } as const;
/** Forms that a model reads, the best first. */
const READABLE = ["markdown", "text", "latex", "html", "svg", "javascript"] as const;

export const runCode: Tool = defineTool({
  name: "run_code",
  title: "Run code",
  description:
    "Runs code in a sandbox's interpreter. Variables, imports and functions stay for the next call with the " +
    "same language. The value of the last expression is returned, as in a notebook; images and tables that are " +
    "displayed come back as such. An exception is a result, not an error.",
  input: {
    sandbox: SANDBOX,
    code: z.string().min(1),
    language: z.string().default("python").describe("python, javascript or typescript"),
    timeoutMs: z.int().min(1).max(86_400_000).default(60_000).describe("Breaks it off after so many milliseconds"),
    maxOutput: z.int().min(100).max(200_000).default(20_000)
      .describe("Characters of stdout, of stderr and of each result that are returned"),
  },
  output: {
    text: z.string().optional().describe("Value of the last expression"),
    stdout: z.string(),
    stderr: z.string(),
    error: z.object({ name: z.string(), value: z.string(), traceback: z.string() }).optional()
      .describe("The exception that ended it"),
    results: z.array(z.object({ formats: z.array(z.string()), text: z.string().optional() }))
      .describe("What was displayed; images are in the content"),
    timedOut: z.boolean(),
  },
  hints: RUNS,
  async run({ sandbox, code, language, timeoutMs, maxOutput }, { session, signal, progress }) {
    const handle = await session.open(sandbox, signal);
    const { execution, timedOut } = await handle
      .runCode(code, { language, timeoutMs, signal, onStdout: progress, onStderr: progress })
      .then((execution) => ({ execution, timedOut: false }), (error) => {
        if (!(error instanceof TimeoutError && error.cause)) throw error;
        return { execution: error.cause as Execution, timedOut: true };
      });
    const clip = (whole: string) => clipped(whole, maxOutput);
    const { error, results, logs } = execution;
    const stdout = clip(logs.stdout.join(""));
    const stderr = clip(logs.stderr.join(""));
    return {
      data: {
        ...execution.text === undefined ? {} : { text: clip(execution.text) },
        stdout,
        stderr,
        ...error ? { error: { ...error, traceback: clip(error.traceback) } } : {},
        results: results.map((result) => ({ formats: result.formats(), ...readable(result, clip) })),
        timedOut,
      },
      content: [
        ...timedOut ? [text(`Broken off after ${timeoutMs} ms: raise timeoutMs.`)] : [],
        ...labelled("stdout", stdout),
        ...labelled("stderr", stderr),
        ...results.flatMap((result) => contentOf(result, clip)),
        ...error ? [text(clip(error.traceback || `${error.name}: ${error.value}`))] : [],
        ...stdout || stderr || results.length > 0 || error || timedOut ? [] : [text("It ran; nothing was shown.")],
      ],
      isError: timedOut,
    };
  },
});

function labelled(name: string, output: string): ContentBlock[] {
  return output === "" ? [] : [text(`--- ${name}\n${output.replace(/\n$/, "")}`)];
}

/** An image where there is one, and else the form that reads best. */
function contentOf(result: Result, clip: (whole: string) => string): ContentBlock[] {
  for (const [form, mimeType] of Object.entries(IMAGES)) {
    const data = result[form as keyof typeof IMAGES];
    if (data === undefined) continue;
    if (data.length <= MOST_IMAGE) return [{ type: "image", data, mimeType }];
    return [text(`[image of ${Math.round(data.length * 3 / 4)} bytes left out: save it to a file instead]`)];
  }
  const { text: found } = readable(result, clip);
  return found === undefined ? [text(`[a result as ${result.formats().join(", ")}]`)] : [text(found)];
}

function readable(result: Result, clip: (whole: string) => string): { text?: string } {
  for (const form of READABLE) if (result[form] !== undefined) return { text: clip(result[form]) };
  const value = result.json ?? result.data;
  return value === undefined ? {} : { text: clip(JSON.stringify(value)) };
}
