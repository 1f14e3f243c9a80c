/** Calls a webhook and decodes its answer, as strictly as Metacontroller does. @module */
import { parseJson } from "../../api/objects/json.ts";
import type { HookName, HookSpec } from "./definition.ts";
import type { Clock } from "../store/store.ts";

/** The used part of `fetch`, so that an application can be called without a port. */
export type Fetch = (url: string, init: RequestInit) => Response | Promise<Response>;

export interface Hook {
  version: "v1" | "v2";
  /**
   * Sends a request and returns the answer; `signal` ends the wait.
   *
   * @throws {TooManyRequests} for status 429
   * @throws {Error} for a timeout, any other status than 200, or an answer that cannot be decoded
   */
  call(request: unknown, signal: AbortSignal): Promise<Record<string, unknown>>;
}

/** Thrown if the hook answers with status 429 and asks for a delay. */
export class TooManyRequests extends Error {
  override readonly name = "TooManyRequests";
  readonly seconds: number;

  constructor(seconds: number) {
    super(`Cannot sync: the hook asked for ${seconds} s`);
    this.seconds = seconds;
  }
}

type Check = (value: unknown, strict: boolean) => boolean;
const DEFAULT_TIMEOUT_MS = 10_000;
const UNSUPPORTED = ["etag", "caBundle", "clientTLS", "authorization", "basicAuth"];

const RULE_FIELDS = ["apiVersion", "resource", "labelSelector", "namespaceSelector", "namespace", "names"];

const hasOnly = (value: object, fields: string[]) => Object.keys(value).every((field) => fields.includes(field));
const isMap: Check = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isTextMap: Check = (value) =>
  isMap(value, false) && Object.values(value as object).every((text) => text === null || typeof text === "string");
const isRuleList: Check = (value, strict) =>
  Array.isArray(value) && value.every((rule) => isMap(rule, strict) && (!strict || hasOnly(rule, RULE_FIELDS)));
const isChildList: Check = (value) =>
  Array.isArray(value) &&
  value.every((child) => isMap(child, false) && typeof child.kind === "string" && child.kind !== "");
const isNumber: Check = (value) => typeof value === "number";
const isBoolean: Check = (value) => typeof value === "boolean";

const COMMON = { status: isMap, resyncAfterSeconds: isNumber, finalized: isBoolean };
/** The fields of an answer; any of them may be absent or null. */
export const ANSWERS = {
  composite: { ...COMMON, children: isChildList },
  decorator: { ...COMMON, labels: isTextMap, annotations: isTextMap, attachments: isChildList },
  customize: { relatedResources: isRuleList },
};

/**
 * Makes a hook of a controller; undefined if the controller has no hook of this name.
 *
 * @throws {RangeError} if the webhook has no URL or uses what this fake does not support
 */
export function createHook(
  name: HookName,
  spec: HookSpec | undefined,
  fields: Record<string, Check>,
  { fetch, clock }: { fetch: Fetch; clock: Clock },
): Hook | undefined {
  const webhook = spec?.webhook;
  if (!webhook) return undefined;
  const unsupported = UNSUPPORTED.find((field) => webhook[field] !== undefined);
  if (unsupported) {
    throw new RangeError(`Cannot call ${name} hook: the fake Metacontroller has no webhook.${unsupported}`);
  }
  const url = urlOf(name, webhook);
  const timeoutMs = durationMs(webhook.timeout) || DEFAULT_TIMEOUT_MS;
  const version = spec.version ?? "v1";
  const strict = (webhook.responseUnMarshallMode ?? (version === "v2" ? "strict" : "loose")) === "strict";
  return {
    version,
    async call(request, signal) {
      const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(request) };
      const { status, retryAfter, body } = await withTimeout(clock, timeoutMs, signal, async (ended) => {
        const response = await fetch(url, { ...init, signal: ended });
        return {
          status: response.status,
          retryAfter: response.headers.get("retry-after"),
          body: await response.text(),
        };
      });
      if (status === 429) throw new TooManyRequests(secondsOf(retryAfter ?? "", clock));
      if (status !== 200) throw new Error(`Cannot use answer of ${name} hook: status ${status}, body ${body}`);
      return decode(name, body, fields, strict);
    },
  };
}

function urlOf(name: HookName, { url, service, path }: NonNullable<HookSpec["webhook"]>): string {
  if (url !== undefined) return url;
  if (!service?.name || !service.namespace || path === undefined) {
    throw new RangeError(
      `Cannot call ${name} hook: neither webhook.url nor webhook.service and webhook.path are given`,
    );
  }
  return `${service.protocol ?? "http"}://${service.name}.${service.namespace}:${service.port ?? 80}${path}`;
}

async function withTimeout<T>(
  clock: Clock,
  ms: number,
  stopped: AbortSignal,
  run: (ended: AbortSignal) => Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  const stop = () => ended.abort(new Error("Cannot wait for hook: the controller is stopping"));
  const cancel = clock.setTimeout(() => ended.abort(new Error(`Cannot reach hook: no answer within ${ms} ms`)), ms);
  const { promise, reject } = Promise.withResolvers<never>();
  ended.signal.addEventListener("abort", () => reject(ended.signal.reason));
  stopped.addEventListener("abort", stop);
  if (stopped.aborted) stop();
  try {
    return await Promise.race([run(ended.signal), promise]);
  } finally {
    cancel();
    stopped.removeEventListener("abort", stop);
  }
}

function decode(name: HookName, body: string, fields: Record<string, Check>, strict: boolean): Record<string, unknown> {
  const answer: unknown = parsed(name, body) ?? {};
  if (!isMap(answer, strict)) throw new TypeError(`Cannot use answer of ${name} hook: it is not an object`);
  for (const [field, value] of Object.entries(answer as object)) {
    const check = Object.hasOwn(fields, field) ? fields[field] : undefined;
    if (!check && strict) throw new TypeError(`Cannot use answer of ${name} hook: unknown field "${field}"`);
    if (check && value !== null && !check(value, strict)) {
      throw new TypeError(`Cannot use answer of ${name} hook: field "${field}" has a wrong type`);
    }
  }
  return answer as Record<string, unknown>;
}

function parsed(name: HookName, body: string): unknown {
  try {
    return parseJson(body);
  } catch {
    throw new SyntaxError(`Cannot use answer of ${name} hook: it is not JSON`);
  }
}

/** Reads Retry-After: whole seconds or a date. Anything else is 0: retry at once. */
function secondsOf(retryAfter: string, clock: Clock): number {
  if (/^[+-]?\d+$/.test(retryAfter)) return Number(retryAfter);
  const time = /^[A-Z][a-z]{2}, /.test(retryAfter) ? Date.parse(retryAfter) : NaN;
  return Number.isNaN(time) ? 0 : Math.ceil((time - clock.now()) / 1000);
}

const UNIT_MS: Record<string, number> = { ns: 1e-6, us: 1e-3, "µs": 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Reads a Go duration such as `1m30s`; an absent, negative or zero duration is 0. */
function durationMs(text: string | undefined): number {
  if (text === undefined || text.startsWith("-") || text === "0") return 0;
  const parts = [...text.matchAll(/([\d.]+)(ns|us|µs|ms|s|m|h)/g)];
  if (parts.map(([part]) => part).join("") !== text || parts.length === 0) {
    throw new RangeError(`Cannot read duration "${text}": it is not like 10s or 1m30s`);
  }
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (UNIT_MS[unit ?? ""] ?? 0), 0);
}
