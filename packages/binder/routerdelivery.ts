/** Delivers what claims set to runtimes through the router, which has the keys for their tokens. @module */
import { ROUTER_AUDIENCE } from "../api/installation.ts";
import { REASON_HEADER, RUNTIME_PORT, SANDBOX_NOT_FOUND, WAKE_HEADER } from "../api/router/protocol.ts";
import { isObject, readJson } from "../api/objects/json.ts";
import { createByteBuffer } from "../process/bytebuffer.ts";
import { type Deliver, type Delivery, DeliveryRefused } from "./state.ts";

/** Time limit for the router's own answer. */
const ALIVE_MS = 2000;
/** Time limit of a delivery, with all its requests: each delivery keeps others waiting. */
const TIMEOUT_MS = 10_000;
/** How often to ask again if the router does not know the binding yet, and how long to wait before, in milliseconds. */
const LOOKS = { most: 25, pauseMs: 20 };
/** Most bytes of an answer that are read: a sandbox may send any amount. A list of names is shorter. */
const MOST_BYTES = 1 << 20;
/** Most characters of a message that are reported. */
const MOST_WORDS = 500;

/**
 * Creates the delivery.
 *
 * @param url of the router @param token reads the binder's token for the router; undefined: it has none
 */
export function createRouterDelivery(
  url: string,
  token: () => string | undefined,
  timeoutMs = TIMEOUT_MS,
  runtimePort = RUNTIME_PORT,
): Deliver {
  return async ({ namespace, name, uid, claim }, { env, ...others }, how) => {
    const bearer = token();
    const signal = AbortSignal.timeout(timeoutMs);
    const headers: Record<string, string> = {
      "X-Sandbox-ID": name,
      "X-Sandbox-Namespace": namespace,
      "X-Sandbox-Port": String(runtimePort),
      "X-Sandbox-UID": uid,
      // The Sandbox may just have been suspended.
      [WAKE_HEADER]: "false",
      ...bearer === undefined ? {} : { Authorization: `Bearer ${bearer}` },
    };
    const ask = async (method: string, body?: string) => {
      for (let looks = 1;; looks++) {
        const answer = await fetch(new URL(`/v1/bind?claim=${encodeURIComponent(claim)}`, url), {
          method,
          headers: { ...headers, ...body === undefined ? {} : { "Content-Type": "application/json" } },
          ...body === undefined ? {} : { body },
          redirect: "manual",
          signal,
        }).catch(async (error) => {
          // The router answers others: it waits for the runtime.
          if (signal.aborted && await isAlive(url)) {
            throw new DeliveryRefused(`its runtime does not answer in ${timeoutMs / 1000} s`);
          }
          throw new Error(`the router at ${url} does not answer: ${causeOf(error)}`);
        });
        if (answer.headers.get(REASON_HEADER) !== SANDBOX_NOT_FOUND || looks > LOOKS.most) return answer;
        await answer.body?.cancel();
        await new Promise((resolve) => setTimeout(resolve, LOOKS.pauseMs));
      }
    };
    const send = async (method: string, delivery: Partial<Delivery>) => {
      const answer = await ask(method, bodyOf(delivery));
      if (!answer.ok) throw await failureOf(answer);
      await answer.body?.cancel();
    };
    if (how === "first") return await send("POST", { env, ...others });
    // Nothing can be missing, so the runtime needs not be asked.
    if (Object.keys(env).length + others.files.length === 0 && others.start === undefined) {
      return await send("PATCH", { env });
    }
    const found = await ask("GET");
    // 404: nothing is bound, or no runtime answers, which the next request finds out.
    if (!found.ok && found.status !== 404) throw await failureOf(found);
    const { names, of } = found.ok ? boundIn(await textOf(found)) : { names: undefined, of: undefined };
    if (!found.ok) await found.body?.cancel();
    // A program may have bound variables of its own since the start of the Pod, also newer values of these. They stay.
    const missing = Object.entries(env).filter(([variable]) => !names?.has(variable));
    // A runtime that waits for the variables of the claim waits also if there are none.
    const hasCome = of === claim;
    if (hasCome && missing.length === 0) return;
    // Files and start command came together with the first variables. The sandbox may have changed the files since.
    await send("PATCH", { env: Object.fromEntries(missing), ...hasCome ? {} : others });
  };
}

/** An older runtime knows only variables, so others are named only if there are any. */
function bodyOf({ env, files = [], start }: Partial<Delivery>): string {
  return JSON.stringify({
    env,
    ...files.length > 0 ? { files: files.map(({ path, content }) => ({ path, content_base64: content })) } : {},
    ...start === undefined ? {} : { start },
  });
}

async function isAlive(url: string): Promise<boolean> {
  const answer = fetch(new URL("/healthz", url), { signal: AbortSignal.timeout(ALIVE_MS) });
  return await answer.then(async ({ ok, body }) => (await body?.cancel(), ok), () => false);
}

/** Reads which variables a runtime has, and whether those of a claim are among them. */
function boundIn(text: string): { names: Set<unknown>; of: unknown } {
  const body = readJson(text);
  const { env, claim } = isObject(body) ? body : {};
  return { names: new Set(Array.isArray(env) ? env : []), of: claim };
}

/** Reads an answer, up to {@link MOST_BYTES}. Empty if it breaks off. */
async function textOf({ body }: Response): Promise<string> {
  const gathered = createByteBuffer();
  try {
    for await (const chunk of body ?? []) {
      gathered.add(chunk.subarray(0, MOST_BYTES - gathered.size()));
      if (gathered.size() === MOST_BYTES) break;
    }
  } catch {
    return "";
  }
  return gathered.takeText();
}

/** The message of `fetch` itself says nothing. */
function causeOf(error: unknown): string {
  const { cause, message } = error as Error;
  return cause instanceof Error ? cause.message : message;
}

/** Tells who refuses: the runtime answers `{code, message}`, the router `{detail}`. Neither repeats a value. */
async function failureOf(answer: Response): Promise<Error> {
  const { status } = answer;
  const body = readJson(await textOf(answer));
  const { code, message, detail } = isObject(body) ? body : {};
  const words = String(message ?? detail ?? `HTTP ${status}`).slice(0, MOST_WORDS);
  if (typeof code === "string" || (detail === undefined && status < 500)) {
    return new DeliveryRefused(`its runtime refuses: ${words}`);
  }
  if (status === 502 || status === 504) return new DeliveryRefused(`its runtime does not answer: ${words}`);
  const hint = status === 401 ? ` (the binder needs a token for the audience ${ROUTER_AUDIENCE})` : "";
  return new Error(`the router refuses: ${words}${hint}`);
}
