/** Contexts of code: interpreters in the sandbox whose state is kept between calls. Runs no code. @module */
import { createClient } from "@connectrpc/connect";
import { type Context, ContextsService } from "../../runtime-api/gen/hookbox/runtime/v1/contexts_pb.ts";
import { envOf, type EnvOptions } from "../env.ts";
import { call, type CallOptions } from "../runtime/call.ts";
import type { RuntimeClient } from "../runtime/runtimeclient.ts";
import { repeating } from "../runtime/repeat.ts";

/** Languages of hookbox's runtime; another runtime may know more. */
export type CodeLanguage = "python" | "javascript" | "typescript" | (string & Record<never, never>);

/** An interpreter whose state is kept. */
export interface CodeContext {
  id: string;
  language: string;
  /** Its working folder, an absolute path in the sandbox. */
  cwd: string;
  /**
   * False: the interpreter has ended, and its variables are lost. Restart or remove the context. For the default context of a
   * language, the next code starts a new interpreter. As of this answer.
   */
  isAlive: boolean;
  /** Code runs in it. As of this answer. */
  isBusy: boolean;
}

/** What a new context is like. */
export interface CreateCodeContextOptions extends CallOptions, EnvOptions {
  /** @default "python" */
  language?: CodeLanguage | undefined;
  /** Working folder, as paths of `files`. Without: the root. */
  cwd?: string | undefined;
  /** Environment variables of the interpreter, in addition to the sandbox's own. */
  env?: Record<string, string> | undefined;
}

/** Makes a context. Sent once: a second time there would be two. @throws as `Code.createCodeContext` */
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

/** Lists them. Repeated as needed: it changes nothing. */
export async function listContexts(runtimeClient: RuntimeClient, options: CallOptions): Promise<CodeContext[]> {
  const list = () =>
    call(runtimeClient, "list contexts", options, (sent) => clientOf(runtimeClient).listContexts({}, sent));
  return (await repeating(list, { repeatable: true, ...options })).contexts.map(contextOf);
}

/** Ends the interpreter and forgets the context. Sent once: a second time there would be none. */
export async function removeContext(runtimeClient: RuntimeClient, context: CodeContext | string, options: CallOptions) {
  const contextId = idOf(context);
  const action = `remove context ${contextId}`;
  await call(runtimeClient, action, options, (sent) => clientOf(runtimeClient).removeContext({ contextId }, sent));
}

/** Gives it a new interpreter. Sent once: a second time what ran in it meanwhile would be lost. */
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

/** Breaks off what runs in it. Sent once: a second time it might meet the next piece of code. */
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
