/** Tools for the Vercel AI SDK: a model runs commands and code in a sandbox, and reads and writes files. @module */
import { type Tool, tool } from "ai";
import type { Entry, Sandbox } from "hookbox";
import * as z from "zod";

/** Languages that a model can choose. */
const LANGUAGES = ["python", "javascript", "typescript", "bash"] as const;

/** Limits of the tools. */
export interface SandboxToolOptions {
  /** Kills a command, and interrupts code, after this many milliseconds. @default 120000 */
  timeoutMs?: number;
  /** Largest number of characters of each output that the model gets. @default 20000 */
  maxOutputLength?: number;
}

/** What a command has written, and how it ended. */
export interface CommandOutcome {
  exitCode: number;
  stdout: string;
  stderr: string;
  /** Whether output is missing, because there was more than `maxOutputLength`. */
  truncated: boolean;
}

/** What code has printed and returned. Absent: nothing of that kind. */
export interface CodeOutcome {
  stdout: string;
  stderr: string;
  /** Text of the value of the last expression. */
  result?: string;
  /** Traceback of the exception that ended the code. */
  error?: string;
}

/** The tools, by the names that the model uses. */
export type SandboxTools = {
  runCommand: Tool<{ command: string; cwd?: string | undefined }, CommandOutcome>;
  runCode: Tool<{ code: string; language: typeof LANGUAGES[number] }, CodeOutcome>;
  readFile: Tool<{ path: string }, string>;
  writeFile: Tool<{ path: string; content: string }, string>;
  listFiles: Tool<{ path: string }, Pick<Entry, "name" | "type" | "size">[]>;
};

/**
 * Makes tools that work in a sandbox. If a call fails, the model gets the message of the error.
 *
 * ```ts
 * await using sandbox = await Sandbox.create({ pool: "python" });
 * const { text } = await generateText({ model, prompt, tools: sandboxTools(sandbox), stopWhen: isStepCount(20) });
 * ```
 */
export function sandboxTools(sandbox: Sandbox, options: SandboxToolOptions = {}): SandboxTools {
  const { timeoutMs = 120_000, maxOutputLength = 20_000 } = options;
  const path = z.string().describe("Path of the file or folder; relative to the working directory of the sandbox.");
  return {
    runCommand: tool({
      description: "Runs a command with `sh -c` in a Linux sandbox, and waits until it ends.",
      inputSchema: z.object({ command: z.string(), cwd: z.string().optional().describe("Working directory.") }),
      async execute({ command, cwd }, { abortSignal }) {
        const limits = { timeoutMs, maxOutputLength, ...cwd !== undefined && { cwd } };
        const done = await sandbox.commands.run(command, { ...limits, ...abortSignal && { signal: abortSignal } });
        return { exitCode: done.exitCode, stdout: done.stdout, stderr: done.stderr, truncated: done.truncated };
      },
    }),
    runCode: tool({
      description: "Runs code in the sandbox. Variables are kept between calls.",
      inputSchema: z.object({
        code: z.string(),
        language: z.enum(LANGUAGES).default("python"),
      }),
      async execute({ code, language }, { abortSignal }) {
        const done = await sandbox.runCode(code, { language, timeoutMs, maxOutputLength, signal: abortSignal });
        return {
          stdout: done.logs.stdout.join(""),
          stderr: done.logs.stderr.join(""),
          ...done.text !== undefined && { result: done.text.slice(0, maxOutputLength) },
          ...done.error && { error: done.error.traceback.slice(-maxOutputLength) },
        };
      },
    }),
    readFile: tool({
      description: "Reads a text file of the sandbox.",
      inputSchema: z.object({ path }),
      async execute({ path }, { abortSignal }) {
        const text = await sandbox.files.read(path, { signal: abortSignal });
        const missing = text.length - maxOutputLength;
        return missing > 0 ? `${text.slice(0, maxOutputLength)}\n[${missing} more characters]` : text;
      },
    }),
    writeFile: tool({
      description: "Creates or replaces a text file of the sandbox, and creates the folders that it needs.",
      inputSchema: z.object({ path, content: z.string() }),
      async execute({ path, content }, { abortSignal }) {
        await sandbox.files.write(path, content, { signal: abortSignal });
        return `Wrote ${path}`;
      },
    }),
    listFiles: tool({
      description: "Lists a folder of the sandbox.",
      inputSchema: z.object({ path: path.default(".") }),
      async execute({ path }, { abortSignal }) {
        const entries = await sandbox.files.list(path, { signal: abortSignal });
        return entries.map(({ name, type, size }) => ({ name, type, size }));
      },
    }),
  };
}
