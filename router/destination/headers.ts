/** The sandbox that a request names in its headers. Pure. @module */
import type { IncomingHttpHeaders } from "node:http";
import { WAKE_HEADER } from "../../lib/routerheaders.ts";
import { isRefusal, type Refusal } from "../refusal.ts";
import { canonicalIP, isPodAddress } from "./podip.ts";
import { badRequest, checkedTarget, type Target } from "./target.ts";

const UID = /^[0-9A-Za-z-]{1,128}$/;

/**
 * Reads X-Sandbox-ID, -Namespace, -Port, -UID and -Pod-IP, and our own -Wake. Source: Agent Sandbox API, section 7.1, with
 * its texts.
 *
 * @param headers as node:http joins them: a header that comes twice fits no format
 */
export function targetFromHeaders(headers: IncomingHttpHeaders, allowLoopback: boolean): Target | Refusal {
  const name = textOf(headers["x-sandbox-id"]);
  if (name === "") return badRequest("X-Sandbox-ID header is required.");
  const target = checkedTarget(textOf(headers["x-sandbox-namespace"]), name, textOf(headers["x-sandbox-port"]));
  if (isRefusal(target)) return target;
  const uid = textOf(headers["x-sandbox-uid"]);
  const address = textOf(headers["x-sandbox-pod-ip"]);
  if (uid !== "") {
    if (!UID.test(uid)) return badRequest("Invalid sandbox UID format.");
    target.uid = uid;
  }
  if (address !== "") {
    const podIP = canonicalIP(address);
    if (podIP === undefined || !isPodAddress(podIP, allowLoopback)) return badRequest("Invalid target IP address.");
    target.podIP = podIP;
  }
  if (textOf(headers[WAKE_HEADER.toLowerCase()]) === "false") target.wakes = false;
  return target;
}

function textOf(value: string | string[] | undefined): string {
  return typeof value === "string" ? value.trim() : value === undefined ? "" : value.join(", ");
}
