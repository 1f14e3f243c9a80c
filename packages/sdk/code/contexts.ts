/** Creates, lists, restarts and removes contexts: interpreters that keep their variables. @module */
import { createClient } from "@connectrpc/connect";
import { type Context, ContextsService } from "../../runtime-api/gen/hookbox/runtime/v1/contexts_pb.ts";
import { envOf, type EnvOptions } from "../env.ts";
import { call, type CallOptions } from "../runtime/call.ts";
import type { RuntimeClient } from "../runtime/runtimeclient.ts";
import { repeating } from "../runtime/repeat.ts";

/** A language of hookbox's runtime, or any other that another runtime supports. */
export type CodeLanguage = "python" | "javascript" | "typescript" | (string & Record<never, never>);

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
export interface CreateCodeContextOptions extends CallOptions, EnvOptions {
  /** @default "python" */
  language?: CodeLanguage | undefined;
  /** Working folder; paths are those of `files`. Absent: the root. */
  cwd?: string | undefined;
  /** Environment variables of the interpreter, in addition to those of the sandbox. */
  env?: Record<string, string> | undefined;
}

/**
 * Creates a context. Sent only once: a repeated request would create a second one.
 *
 * @throws as `Code.createCodeContext`
 */
export async function createContext(
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
export async function listContexts(runtimeClient: RuntimeClient, options: CallOptions): Promise<CodeContext[]> {
  const list = () =>
    call(runtimeClient, "list contexts", options, (sent) => clientOf(runtimeClient).listContexts({}, sent));
  return (await repeating(list, { repeatable: true, ...options })).contexts.map(contextOf);
}

/** Ends the interpreter and removes the context. Sent only once: a repeated request would fail. */
export async function removeContext(runtimeClient: RuntimeClient, context: CodeContext | string, options: CallOptions) {
  const contextId = idOf(context);
  const action = `remove context ${contextId}`;
  await call(runtimeClient, action, options, (sent) => clientOf(runtimeClient).removeContext({ contextId }, sent));
}

/** Starts a new interpreter. Sent only once: a repeated request would lose what ran in between. */
export async function restartContext(
  runtimeClient: RuntimeClient,
  context: CodeContext | string | { language: CodeLanguage },
  options: CallOptions,
): Promise<CodeContext> {
  const isDefault = typeof context === "object" && !("id" in context);
  const request = isDefault ? { language: context.language } : { contextId: idOf(context) };
  const action = isDefault ? `restart the default context of ${context.language}` : `restart context ${idOf(context)}`;
  const restart = call(
    runtimeClient,
    action,
    options,
    (sent) => clientOf(runtimeClient).restartContext(request, sent),
  );
  return contextOf((await restart).context);
}

/** Interrupts the running code. Sent only once: a repeated request could interrupt the next piece of code. */
export async function interruptContext(
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
