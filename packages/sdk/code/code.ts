/** Defines `sandbox.runCode` and `sandbox.code`: code whose variables are kept between calls. @module */
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
 * Runs code in a sandbox.
 *
 * Every call throws a {@link SandboxError} that names the sandbox. If the sandbox does not answer or a connection
 * breaks, it is a {@link ConnectionError}. Code is never run twice: after such an error, it may have run, or may still
 * be running.
 */
export interface Code {
  /**
   * Runs a piece of code. If other code is running in the same context, it waits. Variables, imports and functions are
   * kept for the next call. An exception in the code is not thrown, but returned in `error`.
   *
   * ```ts
   * await sandbox.runCode("x = 20");
   * const { text } = await sandbox.runCode("x + 1", { onStdout: (piece) => process.stdout.write(piece) });
   * // text === "21"
   * ```
   *
   * @throws {@link NotFoundError} if the context does not exist
   * @throws {@link ConflictError} if the interpreter of `context` has ended: restart the context. The default context
   * of a language starts a new interpreter by itself, and reports that in `logs.stderr`
   * @throws {@link InvalidArgumentError} if the runtime does not support the language
   * @throws {@link TimeoutError} after `timeoutMs`; its `cause` is the {@link Execution} up to then
   */
  runCode(code: string, options?: RunCodeOptions): Promise<Execution>;

  /**
   * Creates a context: starts a separate interpreter.
   *
   * ```ts
   * const context = await sandbox.code.createCodeContext({ language: "javascript", cwd: "project", env: { DEBUG: "1" } });
   * await sandbox.runCode("process.env.DEBUG", { context });
   * ```
   *
   * @throws {@link NotFoundError} if the folder does not exist, or the sandbox has no interpreter for the language
   */
  createCodeContext(options?: CreateCodeContextOptions): Promise<CodeContext>;

  /** Lists all contexts, including the default contexts of languages. */
  listCodeContexts(options?: CallOptions): Promise<CodeContext[]>;

  /** Ends the interpreter of a context and removes the context. @throws {@link NotFoundError} */
  removeCodeContext(context: CodeContext | string, options?: CallOptions): Promise<void>;

  /**
   * Starts a new interpreter for a context, with the same folder and environment. Variables, imports and functions are
   * lost. `{ language }` restarts the default context of that language.
   *
   * @throws {@link NotFoundError}
   */
  restartCodeContext(
    context: CodeContext | string | { language: CodeLanguage },
    options?: CallOptions,
  ): Promise<CodeContext>;

  /** Interrupts the running code of a context, if there is any. Variables are kept. @throws {@link NotFoundError} */
  interruptCodeContext(context: CodeContext | string, options?: CallOptions): Promise<void>;
}

/** Creates the `code` of one sandbox. */
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
