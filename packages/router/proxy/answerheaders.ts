/** Makes the headers of a sandbox's answer for the client. Pure. @module */
import type { IncomingMessage } from "node:http";
import { headersForClient } from "./headers.ts";
import { type ClientView, cookieFor, locationFor, refreshFor } from "./rewrite.ts";

/** How the headers of an answer are changed. */
export interface AnswerRules extends ClientView {
  /** The router's own cookie, which no sandbox can set. */
  cookieName: string | undefined;
  /** False: addresses and cookies pass unchanged. */
  rewrites: boolean;
  /** Which pages may embed the answer, if the sandbox does not say. */
  resourcePolicy: "same-origin" | "cross-origin";
}

const POLICY = "cross-origin-resource-policy";
const NOSNIFF = "x-content-type-options";
/** With these headers, answers of different sandboxes share one URL, so caches must tell them apart. */
const NAMES = "X-Sandbox-ID, X-Sandbox-Namespace, X-Sandbox-Port";

/**
 * Returns the headers as a flat list: the sandbox's headers with addresses changed for the client, headers that prevent
 * pages of other origins from reading the answer as a script or image, and Vary, so that caches do not use it for
 * another sandbox.
 *
 * @param podIP address at which the sandbox was reached
 */
export function answerHeaders(
  { rawHeaders, headers }: Pick<IncomingMessage, "rawHeaders" | "headers">,
  podIP: string,
  rules: AnswerRules,
): string[] {
  const passed = headersForClient(rawHeaders, headers.connection, rules.cookieName);
  const result: string[] = [];
  for (let i = 0; i + 1 < passed.length; i += 2) {
    const name = passed[i] as string;
    if (name.toLowerCase() === NOSNIFF) continue;
    result.push(
      name,
      rules.rewrites ? rewritten(name, passed[i + 1] as string, podIP, rules) : passed[i + 1] as string,
    );
  }
  result.push("X-Content-Type-Options", "nosniff");
  if (rules.via === "headers") result.push("Vary", NAMES);
  if (headers[POLICY] === undefined) result.push("Cross-Origin-Resource-Policy", rules.resourcePolicy);
  return result;
}

function rewritten(name: string, value: string, podIP: string, rules: AnswerRules): string {
  switch (name.toLowerCase()) {
    case "location":
    case "content-location":
      return locationFor(value, podIP, rules);
    case "refresh":
      return refreshFor(value, podIP, rules);
    case "set-cookie":
      return rules.via === "headers" ? value : cookieFor(value, rules);
    default:
      return value;
  }
}
