/** The MCP tool that runs code and returns its results: text, tables, images. @module */
import type { ContentBlock } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import type { Execution, ExecutionError, Result } from "../../../sdk/code/execution.ts";
import { TimeoutError } from "../../../sdk/errors.ts";
import { type Clip, clipped, createClip, defineTool, RUNS, SANDBOX, text, type Tool } from "../tool.ts";

/** Largest image, in characters of base64. Larger ones are left out, because clients cannot handle them. */
const MOST_IMAGE = 4 << 20;
/** Largest total size of all images, in characters of base64. */
const MOST_IMAGES = 16 << 20;
/** Largest number of results in addition to the main one. */
const MOST_RESULTS = 100;
/** Largest number of form names per result, and their largest length. */
const MOST_FORMATS = 20;
const MOST_FORMAT = 100;
const IMAGES = { png: "image/png", jpeg: "image/jpeg" } as const;
/** Forms that a model can read, the preferred one first. */
const READABLE = ["markdown", "text", "latex", "html", "svg", "javascript"] as const;

export const runCode: Tool = defineTool({
  name: "run_code",
  title: "Run code",
  description:
    "Runs code in a sandbox's interpreter. Variables, imports and functions stay for the next call with the " +
    "same language. The value of the last expression is returned, as in a notebook; images and tables that are " +
    "displayed come back as such. An exception is a result, not an error. If the interpreter has exited, the next call " +
    "starts a new one, and stderr reports that.",
  input: {
    sandbox: SANDBOX,
    code: z.string().min(1),
    language: z.string().default("python").describe(
      "python, javascript, typescript, bash, r or java; r and java only if the sandbox has them",
    ),
    restart: z.boolean().default(false)
      .describe("Starts a new interpreter of the language first: variables, imports and functions are lost"),
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
    truncated: z.boolean().describe(
      `Output was left out in the middle, or there were more than ${MOST_RESULTS} results`,
    ),
    timedOut: z.boolean(),
  },
  hints: RUNS,
  async run({ sandbox, code, language, restart, timeoutMs, maxOutput }, { session, signal, user, progress }) {
    const handle = await session.open(sandbox, signal);
    if (restart) await handle.code.restartCodeContext({ language, user }, { signal });
    // Only what is returned is kept, because all sessions share the server's memory.
    const kept = { stdout: createClip(maxOutput), stderr: createClip(maxOutput) };
    const shown = createShown(maxOutput);
    const keep = (clip: Clip) => (piece: string) => {
      clip.add(piece);
      progress(piece);
    };
    const handlers = { onStdout: keep(kept.stdout), onStderr: keep(kept.stderr), onResult: shown.add };
    const { execution, timedOut } = await handle
      .runCode(code, { language, timeoutMs, signal, user, ...handlers, maxOutputLength: 0, maxResultsLength: 0 })
      .then((execution) => ({ execution, timedOut: false }), (error) => {
        if (!(error instanceof TimeoutError && error.cause)) throw error;
        return { execution: error.cause as Execution, timedOut: true };
      });
    const error = execution.error && clippedError(execution.error, maxOutput);
    const stdout = kept.stdout.text();
    const stderr = kept.stderr.text();
    const { main, others, left } = shown.take();
    const results = main ? [...others, main] : others;
    return {
      data: {
        ...main?.mainText === undefined ? {} : { text: main.mainText },
        stdout,
        stderr,
        ...error ? { error } : {},
        results: results.map(({ data }) => data),
        truncated: kept.stdout.isClipped() || kept.stderr.isClipped() || left > 0,
        timedOut,
      },
      content: [
        ...timedOut ? [text(`Broken off after ${timeoutMs} ms: raise timeoutMs.`)] : [],
        ...labelled("stdout", stdout),
        ...labelled("stderr", stderr),
        ...others.map(({ content }) => content),
        ...left > 0 ? [text(`[${left} results left out]`)] : [],
        ...main ? [main.content] : [],
        ...error ? [text(error.traceback || clipped(`${error.name}: ${error.value}`, maxOutput))] : [],
        ...stdout || stderr || results.length > 0 || error || timedOut ? [] : [text("It ran; nothing was shown.")],
      ],
      isError: timedOut,
    };
  },
});

/** A result in the form in which it is returned. */
interface Shown {
  data: { formats: string[]; text?: string };
  content: ContentBlock;
  /** Text of the main result. */
  mainText?: string;
}

/** Creates a collector for results. It keeps the main result and the first others; `left` counts the rest. */
function createShown(maxOutput: number) {
  const clip = (whole: string) => clipped(whole, maxOutput);
  const others: Shown[] = [];
  let main: Shown | undefined;
  let left = 0;
  let room = MOST_IMAGES;
  const shownOf = (result: Result): Shown => {
    const formats = result.formats().slice(0, MOST_FORMATS).map((format) => clipped(format, MOST_FORMAT));
    const data = { formats, ...readable(result, clip) };
    const content = imageOf(result, Math.min(room, MOST_IMAGE)) ??
      text(data.text ?? `[a result as ${formats.join(", ")}]`);
    if (content.type === "image") room -= content.data.length;
    const { text: mainText, isMainResult } = result;
    return { data, content, ...isMainResult && mainText !== undefined ? { mainText: clip(mainText) } : {} };
  };
  return {
    add(result: Result): void {
      if (result.isMainResult) main = shownOf(result);
      else if (others.length < MOST_RESULTS) others.push(shownOf(result));
      else left++;
    },
    take: () => ({ main, others, left }),
  };
}

function clippedError({ name, value, traceback }: ExecutionError, maxOutput: number): ExecutionError {
  const clip = (whole: string) => clipped(whole, maxOutput);
  return { name: clip(name), value: clip(value), traceback: clip(traceback) };
}

function labelled(name: string, output: string): ContentBlock[] {
  return output === "" ? [] : [text(`--- ${name}\n${output.replace(/\n$/, "")}`)];
}

/** Returns the image of a result, or its size if it is too large; undefined if the result has no image. */
function imageOf(result: Result, most: number): ContentBlock | undefined {
  for (const [form, mimeType] of Object.entries(IMAGES)) {
    const data = result[form as keyof typeof IMAGES];
    if (data === undefined) continue;
    if (data.length <= most) return { type: "image", data, mimeType };
    return text(`[image of ${Math.round(data.length * 3 / 4)} bytes left out: save it to a file instead]`);
  }
  return undefined;
}

function readable(result: Result, clip: (whole: string) => string): { text?: string } {
  for (const form of READABLE) if (result[form] !== undefined) return { text: clip(result[form]) };
  const value = result.json ?? result.data;
  return value === undefined ? {} : { text: clip(JSON.stringify(value)) };
}
