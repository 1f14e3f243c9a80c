/** Delivers variables to runtimes through the router, which has the keys for their tokens. @module */
import { ROUTER_AUDIENCE } from "../api/installation.ts";
import { REASON_HEADER, SANDBOX_NOT_FOUND, WAKE_HEADER } from "../api/router/protocol.ts";
import { isObject, readJson } from "../api/objects/json.ts";
import { type Deliver, DeliveryRefused } from "./state.ts";

/** Port of the runtime. */
const RUNTIME_PORT = "8080";
/** Time limit of a request. */
const TIMEOUT_MS = 10_000;
/** How often to ask again if the router does not know the binding yet, and how long to wait before, in milliseconds. */
const LOOKS = { most: 25, pauseMs: 20 };
/** Most characters of an answer that are read. */
const MOST_WORDS = 500;

/**
 * Creates the delivery.
 *
 * @param url of the router @param token reads the binder's token for the router; undefined: it has none
 */
export function createRouterDelivery(url: string, token: () => string | undefined): Deliver {
  return async ({ namespace, name, uid }, env, how) => {
    const bearer = token();
    const headers: Record<string, string> = {
      "X-Sandbox-ID": name,
      "X-Sandbox-Namespace": namespace,
      "X-Sandbox-Port": RUNTIME_PORT,
      "X-Sandbox-UID": uid,
      // The Sandbox may just have been suspended.
      [WAKE_HEADER]: "false",
      ...bearer === undefined ? {} : { Authorization: `Bearer ${bearer}` },
    };
    const ask = async (method: string, body?: string) => {
      for (let looks = 1;; looks++) {
        const answer = await fetch(new URL("/v1/bind", url), {
          method,
          headers: { ...headers, ...body === undefined ? {} : { "Content-Type": "application/json" } },
          ...body === undefined ? {} : { body },
          redirect: "manual",
          signal: AbortSignal.timeout(TIMEOUT_MS),
        }).catch((error) => {
          throw new Error(`the router at ${url} does not answer: ${causeOf(error)}`);
        });
        if (answer.headers.get(REASON_HEADER) !== SANDBOX_NOT_FOUND || looks > LOOKS.most) return answer;
        await answer.body?.cancel();
        await new Promise((resolve) => setTimeout(resolve, LOOKS.pauseMs));
      }
    };
    if (how === "again") {
      const found = await ask("GET");
      if (found.ok) return void await found.body?.cancel();
      // 404: nothing is bound, or no runtime answers, which the next request finds out.
      if (found.status !== 404) throw await failureOf(found);
      await found.body?.cancel();
    }
    const answer = await ask("POST", JSON.stringify({ env }));
    if (!answer.ok) throw await failureOf(answer);
    await answer.body?.cancel();
  };
}

/** The message of `fetch` itself says nothing. */
function causeOf(error: unknown): string {
  const { cause, message } = error as Error;
  return cause instanceof Error ? cause.message : message;
}

/** Tells who refuses: the runtime answers `{code, message}`, the router `{detail}`. Neither repeats a value. */
async function failureOf(answer: Response): Promise<Error> {
  const { status } = answer;
  const body = readJson((await answer.text()).slice(0, 10 * MOST_WORDS));
  const { code, message, detail } = isObject(body) ? body : {};
  const words = String(message ?? detail ?? `HTTP ${status}`).slice(0, MOST_WORDS);
  if (typeof code === "string" || (detail === undefined && status < 500)) {
    return new DeliveryRefused(`its runtime refuses: ${words}`);
  }
  if (status === 502 || status === 504) return new DeliveryRefused(`its runtime does not answer: ${words}`);
  const hint = status === 401 ? ` (the binder needs a token for the audience ${ROUTER_AUDIENCE})` : "";
  return new Error(`the router refuses: ${words}${hint}`);
}
