/** Defines `sandbox.runCode` and `sandbox.code`: code whose variables are kept between calls. @module */
import { createClient } from "@connectrpc/connect";
import { type Context, ContextsService } from "../../runtime-api/gen/hookbox/runtime/v1/contexts_pb.ts";
import { envOf, type EnvOptions } from "../options.ts";
import { call, type CallOptions, type UserOptions } from "../runtime/call.ts";
import { withRetries } from "../runtime/repeat.ts";
import type { RuntimeClient } from "../runtime/runtimeclient.ts";
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
   * @throws {@link NotFoundError} if the context does not exist, or the language is not installed in the sandbox
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
   * lost. `{ language }` restarts the default context of that language; each user has one of its own.
   *
   * @throws {@link NotFoundError}
   */
  restartCodeContext(
    context: CodeContext | string | { language: CodeLanguage; user?: string | undefined },
    options?: CallOptions,
  ): Promise<CodeContext>;

  /** Interrupts the running code of a context, if there is any. Variables are kept. @throws {@link NotFoundError} */
  interruptCodeContext(context: CodeContext | string, options?: CallOptions): Promise<void>;
}

/** Creates the `code` of one sandbox. */
export function createCode(runtimeClient: RuntimeClient): Code {
  return {
    runCode: (code, options = {}) => runCode(runtimeClient.as(options.user), code, options),
    createCodeContext: (options = {}) => createContext(runtimeClient.as(options.user), options),
    listCodeContexts: (options = {}) => listContexts(runtimeClient, options),
    removeCodeContext: (context, options = {}) => removeContext(runtimeClient, context, options),
    restartCodeContext: (context, options = {}) => restartContext(runtimeClient, context, options),
    interruptCodeContext: (context, options = {}) => interruptContext(runtimeClient, context, options),
  };
}

/** A language of hookbox's runtime, or any other that another runtime supports. */
export type CodeLanguage =
  | "python"
  | "javascript"
  | "typescript"
  | "bash"
  | "r"
  | "java"
  | (string & Record<never, never>);

/** An interpreter whose variables are kept between calls. */
export interface CodeContext {
  id: string;
  language: string;
  /** Its working folder, as an absolute path in the sandbox. */
  cwd: string;
  /**
   * Whether the interpreter was running when this object was read. If false, its variables are lost: restart or remove
   * the context. For the default context of a language, the next call starts a new interpreter.
   */
  isAlive: boolean;
  /** Whether code was running in it when this object was read. */
  isBusy: boolean;
}

/** Options of a new context. */
export interface CreateCodeContextOptions extends UserOptions, EnvOptions {
  /** @default "python" */
  language?: CodeLanguage | undefined;
  /** Working folder; paths are those of `files`. Absent: the working directory of the sandbox. */
  cwd?: string | undefined;
  /** Environment variables of the interpreter, in addition to those of the sandbox. */
  env?: Record<string, string> | undefined;
}

/**
 * Creates a context. Sent only once: a repeated request would create a second one.
 *
 * @throws as `Code.createCodeContext`
 */
async function createContext(
  runtimeClient: RuntimeClient,
  options: CreateCodeContextOptions,
): Promise<CodeContext> {
  const { language = "", cwd } = options;
  const request = { language, envVars: envOf(options), ...cwd === undefined ? {} : { cwd } };
  const action = `make a context${language && ` of ${language}`}`;
  const { context } = await call(
    runtimeClient,
    action,
    options,
    (sent) => clientOf(runtimeClient).createContext(request, sent),
  );
  return contextOf(context);
}

/** Lists the contexts. The request is repeated if the connection breaks. */
async function listContexts(runtimeClient: RuntimeClient, options: CallOptions): Promise<CodeContext[]> {
  const list = () =>
    call(runtimeClient, "list contexts", options, (sent) => clientOf(runtimeClient).listContexts({}, sent));
  return (await withRetries(list, { repeatable: true, ...options })).contexts.map(contextOf);
}

/** Ends the interpreter and removes the context. Sent only once: a repeated request would fail. */
async function removeContext(runtimeClient: RuntimeClient, context: CodeContext | string, options: CallOptions) {
  const contextId = idOf(context);
  const action = `remove context ${contextId}`;
  await call(runtimeClient, action, options, (sent) => clientOf(runtimeClient).removeContext({ contextId }, sent));
}

/** Starts a new interpreter. Sent only once: a repeated request would lose what ran in between. */
async function restartContext(
  runtimeClient: RuntimeClient,
  context: CodeContext | string | { language: CodeLanguage; user?: string | undefined },
  options: CallOptions,
): Promise<CodeContext> {
  const isDefault = typeof context === "object" && !("id" in context);
  const request = isDefault ? { language: context.language } : { contextId: idOf(context) };
  const action = isDefault ? `restart the default context of ${context.language}` : `restart context ${idOf(context)}`;
  const restart = call(
    runtimeClient,
    action,
    options,
    (sent) => clientOf(runtimeClient.as(isDefault ? context.user : undefined)).restartContext(request, sent),
  );
  return contextOf((await restart).context);
}

/** Interrupts the running code. Sent only once: a repeated request could interrupt the next piece of code. */
async function interruptContext(
  runtimeClient: RuntimeClient,
  context: CodeContext | string,
  options: CallOptions,
) {
  const contextId = idOf(context);
  const action = `interrupt context ${contextId}`;
  await call(runtimeClient, action, options, (sent) => clientOf(runtimeClient).interruptContext({ contextId }, sent));
}

function clientOf({ connectTransport }: RuntimeClient) {
  return createClient(ContextsService, connectTransport);
}

function idOf(context: CodeContext | string): string {
  return typeof context === "string" ? context : context.id;
}

function contextOf(context: Context | undefined): CodeContext {
  const { contextId: id = "", language = "", cwd = "", alive: isAlive = false, busy: isBusy = false } = context ?? {};
  return { id, language, cwd, isAlive, isBusy };
}
