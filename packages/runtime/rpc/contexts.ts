/** hookbox.runtime.v1.ContextsService: runs code in contexts. @module */
import type { JsonValue, MessageInitShape } from "@bufbuild/protobuf";
import { fromJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { Buffer } from "node:buffer";
import type { Root } from "../confine.ts";
import type { CodeContext, Contexts, RunEnd } from "../contexts/contexts.ts";
import type { Forms, KernelEvent } from "../contexts/events.ts";
import { type Language, LANGUAGES } from "../contexts/kernel.ts";
import type {
  ContextsService,
  ResultSchema,
  RunCodeRequest,
  RunCodeResponseSchema,
} from "../../runtime-api/gen/hookbox/runtime/v1/contexts_pb.ts";
import { coded, codedError, folderOf, throwIfBrokenOff } from "./lookup.ts";

/** What the service needs. */
export interface ContextsServiceOptions {
  root: Root;
  contexts: Contexts;
}

/** Creates the service. */
export function createContextsService({ root, contexts }: ContextsServiceOptions): ServiceImpl<typeof ContextsService> {
  const find = (id: string): CodeContext => {
    const found = contexts.get(id);
    if (!found) throw new ConnectError(`Cannot find context ${JSON.stringify(id)}: there is none`, Code.NotFound);
    return found;
  };
  return {
    createContext: async ({ language, cwd, envVars }) => {
      const context = contexts.create(languageOf(language), await folderOf(root, cwd), envVars);
      return { context: infoOf(await coded(context)) };
    },
    listContexts: () => ({ contexts: contexts.list().map(infoOf) }),
    removeContext: ({ contextId }) => {
      contexts.remove(find(contextId));
      return {};
    },
    restartContext: async ({ contextId, language }) => {
      const context = contextId ? find(contextId) : await coded(contexts.default(languageOf(language)));
      await coded(contexts.restart(context));
      return { context: infoOf(context) };
    },
    interruptContext: ({ contextId }) => {
      const context = find(contextId);
      if (context.busy) context.kernel.interrupt();
      return {};
    },
    runCode: async function* (request, handler) {
      const { contextId, language } = request;
      const context = contextId ? find(contextId) : await coded(contexts.default(languageOf(language)));
      yield* run(contexts, context, request, handler);
    },
  };
}

async function* run(contexts: Contexts, context: CodeContext, request: RunCodeRequest, { signal }: HandlerContext) {
  const timeoutMs = request.timeoutMs === undefined ? undefined : Number(request.timeoutMs);
  const events = contexts.run(context, request.code, { timeoutMs, signal });
  try {
    for await (const event of events) {
      const isFlush = ("stdout" in event && !event.stdout) || ("stderr" in event && !event.stderr);
      if (!isFlush) yield messageOf(context, event);
    }
  } catch (error) {
    throw codedError(error);
  }
  throwIfBrokenOff(signal);
}

function languageOf(text: string): Language {
  const language = LANGUAGES.find((one) => one === (text || "python"));
  if (language) return language;
  const known = LANGUAGES.join(", ");
  throw new ConnectError(`Cannot run ${JSON.stringify(text)}: the languages are ${known}`, Code.InvalidArgument);
}

function infoOf({ id, language, cwd, kernel, busy }: CodeContext) {
  return { contextId: id, language, cwd, alive: kernel.alive(), busy };
}

function messageOf(context: CodeContext, event: KernelEvent | RunEnd): MessageInitShape<typeof RunCodeResponseSchema> {
  if ("stdout" in event) return { event: { case: "stdout", value: event.stdout } };
  if ("stderr" in event) return { event: { case: "stderr", value: event.stderr } };
  if ("error" in event) return { event: { case: "error", value: event.error } };
  if ("result" in event) return { event: { case: "result", value: resultOf(event.result, event.main) } };
  return { event: { case: "ended", value: { contextId: context.id, ...event } } };
}

const TEXTS: Record<string, "text" | "html" | "markdown" | "svg" | "latex" | "javascript"> = {
  "text/plain": "text",
  "text/html": "html",
  "text/markdown": "markdown",
  "image/svg+xml": "svg",
  "text/latex": "latex",
  "application/javascript": "javascript",
};
const BYTES: Record<string, "png" | "jpeg" | "pdf"> = {
  "image/png": "png",
  "image/jpeg": "jpeg",
  "application/pdf": "pdf",
};
const VALUES: Record<string, "json" | "data" | "chart"> = {
  "application/json": "json",
  "application/vnd.hookbox.data+json": "data",
  "application/vnd.hookbox.chart+json": "chart",
};

function resultOf(forms: Forms, isMainResult: boolean): MessageInitShape<typeof ResultSchema> {
  const result: MessageInitShape<typeof ResultSchema> = { isMainResult };
  const extra: Record<string, string> = {};
  for (const [mime, form] of Object.entries(forms)) {
    const [text, bytes, value] = [TEXTS[mime], BYTES[mime], VALUES[mime]];
    if (text) result[text] = textOf(form);
    else if (bytes) result[bytes] = Buffer.from(textOf(form), "base64");
    else if (value) {
      result[value] = fromJson(ValueSchema, (typeof form === "string" ? parsed(form) : form) as JsonValue);
    } else extra[mime] = textOf(form);
  }
  return { ...result, extra };
}

function textOf(form: unknown): string {
  if (Array.isArray(form)) return form.join("");
  return typeof form === "string" ? form : JSON.stringify(form) ?? "";
}

/** Parses a JSON form that may be JSON text or a string. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
