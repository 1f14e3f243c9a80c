/** `sandbox.runCode` and its contexts: Python and JavaScript whose state is kept between calls. @module */
import type { CallOptions } from "../runtime/call.ts";
import type { RuntimeClient } from "../runtime/runtimeclient.ts";
import {
  type CodeContext,
  type CodeLanguage,
  type CreateCodeContextOptions,
  createContext,
  interruptContext,
  listContexts,
  removeContext,
  restartContext,
} from "./contexts.ts";
import type { Execution } from "./execution.ts";
import { runCode, type RunCodeOptions } from "./run.ts";

/**
 * Code in a sandbox.
 *
 * Every call throws a {@link SandboxError} that names the sandbox: {@link ConnectionError} if nobody answers or a
 * connection breaks. No code is ever run twice: after such an error it may have run, or run still.
 */
export interface Code {
  /**
   * Runs a piece of code after what runs in its context already; variables, imports and functions stay for the next
   * piece. An exception in the code is not thrown: it is in `error`.
   *
   * ```ts
   * await sandbox.runCode("x = 20");
   * const { text } = await sandbox.runCode("x + 1", { onStdout: (piece) => process.stdout.write(piece) });
   * // text === "21"
   * ```
   *
   * @throws {@link NotFoundError} if there is no such context
   * @throws {@link ConflictError} if the interpreter of `context` has ended: restart the context. The default context of a
   * language starts a new interpreter by itself, and reports that in `logs.stderr`
   * @throws {@link InvalidArgumentError} if the runtime does not know the language
   * @throws {@link TimeoutError} at `timeoutMs`; its `cause` is the {@link Execution} so far
   */
  runCode(code: string, options?: RunCodeOptions): Promise<Execution>;

  /**
   * Starts an interpreter of its own.
   *
   * ```ts
   * const context = await sandbox.code.createCodeContext({ language: "javascript", cwd: "project", env: { DEBUG: "1" } });
   * await sandbox.runCode("process.env.DEBUG", { context });
   * ```
   *
   * @throws {@link NotFoundError} if there is no such folder, or no such interpreter in the sandbox
   */
  createCodeContext(options?: CreateCodeContextOptions): Promise<CodeContext>;

  /** Lists contexts, the default ones of their languages among them. */
  listCodeContexts(options?: CallOptions): Promise<CodeContext[]>;

  /** Ends a context's interpreter and forgets the context. @throws {@link NotFoundError} */
  removeCodeContext(context: CodeContext | string, options?: CallOptions): Promise<void>;

  /**
   * Starts a new interpreter for a context, with the same folder and environment. Variables, imports and functions are lost.
   * `{ language }` restarts the default context of that language.
   *
   * @throws {@link NotFoundError}
   */
  restartCodeContext(
    context: CodeContext | string | { language: CodeLanguage },
    options?: CallOptions,
  ): Promise<CodeContext>;

  /** Breaks off what runs in a context, if anything does; its state stays. @throws {@link NotFoundError} */
  interruptCodeContext(context: CodeContext | string, options?: CallOptions): Promise<void>;
}

/** Makes the code of one sandbox. */
export function createCode(runtimeClient: RuntimeClient): Code {
  return {
    runCode: (code, options = {}) => runCode(runtimeClient, code, options),
    createCodeContext: (options = {}) => createContext(runtimeClient, options),
    listCodeContexts: (options = {}) => listContexts(runtimeClient, options),
    removeCodeContext: (context, options = {}) => removeContext(runtimeClient, context, options),
    restartCodeContext: (context, options = {}) => restartContext(runtimeClient, context, options),
    interruptCodeContext: (context, options = {}) => interruptContext(runtimeClient, context, options),
  };
}
