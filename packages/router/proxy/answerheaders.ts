/** The headers of a sandbox's answer as its client gets them. Pure. @module */
import type { IncomingMessage } from "node:http";
import { headersForClient } from "./headers.ts";
import { type ClientView, cookieFor, locationFor, refreshFor } from "./rewrite.ts";

/** What is done to the headers of an answer. */
export interface AnswerRules extends ClientView {
  /** Cookie of the router's own: no sandbox sets it. */
  cookieName: string | undefined;
  /** False: addresses and cookies pass as they came. */
  rewrites: boolean;
  /** Which pages may embed the answer where the sandbox does not say. */
  resourcePolicy: "same-origin" | "cross-origin";
}

const POLICY = "cross-origin-resource-policy";
const NOSNIFF = "x-content-type-options";
/** Headers that name a sandbox: answers of different sandboxes then have one address. */
const NAMES = "X-Sandbox-ID, X-Sandbox-Namespace, X-Sandbox-Port";

/**
 * Returns the headers, flat: those that pass, with addresses that lead to the sandbox, what keeps pages of other origins from
 * reading the answer as a script or an image, and what keeps caches from taking it for another sandbox's.
 *
 * @param podIP address that the sandbox was asked at
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
