/** The MCP tool that runs code and returns its results: text, tables, images. @module */
import type { ContentBlock, ImageContent } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import type { Execution, ExecutionError, Result } from "../../../sdk/code/execution.ts";
import { TimeoutError } from "../../../sdk/errors.ts";
import { clipped, createOutput, readable } from "../output.ts";
import { defineTool, RUNS, SANDBOX, text, TIMEOUT_MS, type Tool } from "../tool.ts";

/** Largest image, in characters of base64. Models accept no larger ones. */
const MOST_IMAGE = 4 << 20;
/** Largest number of images, and their largest total size in characters of base64. */
const MOST_IMAGES = 10;
const MOST_IMAGE_CHARACTERS = 8 << 20;
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
    "displayed come back as such. An exception is a result, not an error. If the interpreter ends, its variables are " +
    "lost and the next call starts a new one; the result says so. Use restart to begin anew.",
  input: {
    sandbox: SANDBOX,
    code: z.string().min(1),
    language: z.string().default("python").describe(
      "python, javascript, typescript, bash, r or java; r and java only if the sandbox has them",
    ),
    restart: z.boolean().default(false)
      .describe("Starts a new interpreter of the language first: variables, imports and functions are lost"),
    timeoutMs: z.int().min(1).max(86_400_000).default(TIMEOUT_MS).describe(
      "Interrupts the code after so many milliseconds",
    ),
    maxOutput: z.int().min(100).max(200_000).default(20_000)
      .describe("Characters of stdout, of stderr, of the last value and of all other results that are returned"),
  },
  hints: RUNS,
  async run({ sandbox, code, language, restart, timeoutMs, maxOutput }, { open, signal, user, progress }) {
    const handle = await open(sandbox);
    if (restart) await handle.code.restartCodeContext({ language, user }, { signal });
    const output = createOutput(maxOutput, progress, TO_FILE);
    const shown = createShown(maxOutput);
    const options = { language, timeoutMs, signal, user, maxOutputLength: 0, maxResultsLength: 0 };
    const { execution, timedOut } = await handle
      .runCode(code, { ...options, ...output.handlers, onResult: shown.add })
      .then((execution) => ({ execution, timedOut: false }), (error) => {
        if (!(error instanceof TimeoutError && error.cause)) throw error;
        return { execution: error.cause as Execution, timedOut: true };
      });
    const { error } = execution;
    const isLost = error?.name === "KernelDied";
    const content = [
      ...timedOut ? [text(`Stopped after ${timeoutMs} ms (timeoutMs).${isLost ? "" : " Variables are kept."}`)] : [],
      ...output.content(),
      ...shown.content(),
      ...error ? [text(errorText(error, maxOutput))] : [],
      ...isLost ? [text(LOST)] : [],
    ];
    return {
      data: {
        ...error ? { error: { name: clipped(error.name, MOST_FORMAT) } } : {},
        truncated: output.isClipped() || shown.isClipped(),
        timedOut,
        interpreterEnded: isLost,
      },
      content: content.length > 0 ? content : [text("It ran; nothing was shown.")],
      isError: timedOut,
    };
  },
});

const TO_FILE = "To read all of it, let the code write it to a file and use read_file.";
const LOST = "All variables, imports and functions are lost. The next call starts a new interpreter.";

function errorText({ name, value, traceback }: ExecutionError, maxOutput: number): string {
  return readable(clipped(traceback || `${name}: ${value}`, maxOutput)).trimEnd();
}

/** Creates a collector for results. It keeps the main result and the first others, and counts the rest. */
function createShown(maxOutput: number) {
  const others: ContentBlock[] = [];
  let main: ContentBlock | undefined;
  let left = 0;
  let isCut = false;
  let characters = maxOutput;
  let images = MOST_IMAGES;
  let imageCharacters = MOST_IMAGE_CHARACTERS;

  function blockOf(result: Result, most: number): ContentBlock {
    const image = imageOf(result);
    if (image) {
      if (image.data.length <= Math.min(imageCharacters, MOST_IMAGE) && (images > 0 || result.isMainResult)) {
        images--;
        imageCharacters -= image.data.length;
        return image;
      }
      isCut = true;
      return text(`[image of ${Math.round(image.data.length * 3 / 4)} bytes left out: save it to a file instead]`);
    }
    const whole = textFormOf(result) ?? `[a result as ${formatsOf(result)}]`;
    if (whole.length > most) isCut = true;
    return text(readable(clipped(whole, most, TO_FILE)));
  }

  return {
    add(result: Result): void {
      if (result.isMainResult) {
        main = blockOf(result, maxOutput);
        return;
      }
      if (characters <= 0 || others.length >= MOST_RESULTS) {
        left++;
        return;
      }
      const block = blockOf(result, characters);
      if (block.type === "text") characters -= block.text.length;
      others.push(block);
    },
    isClipped: () => isCut || left > 0,
    content(): ContentBlock[] {
      const note = left === 0 ? [] : [text(`[${left} more results left out. Show fewer, or write them to a file.]`)];
      return [...others, ...note, ...main ? [main] : []];
    },
  };
}

function formatsOf(result: Result): string {
  return result.formats().slice(0, MOST_FORMATS).map((format) => clipped(format, MOST_FORMAT)).join(", ");
}

function imageOf(result: Result): ImageContent | undefined {
  for (const [form, mimeType] of Object.entries(IMAGES)) {
    const data = result[form as keyof typeof IMAGES];
    if (data !== undefined) return { type: "image", data, mimeType };
  }
  return undefined;
}

function textFormOf(result: Result): string | undefined {
  for (const form of READABLE) if (result[form] !== undefined) return result[form];
  const value = result.json ?? result.data;
  return value === undefined ? undefined : JSON.stringify(value);
}
