/** The address of a Sandbox that can be reached, given what the client knows of it. Pure. @module */
import { type Refusal, unreachable } from "../refusal.ts";
import type { Target } from "../destination/target.ts";
import type { Entry } from "./sandboxindex.ts";
import type { Reachability } from "./reachability.ts";

/**
 * Returns where to connect. An address in the request never leads anywhere but to the Pod of the Sandbox it names.
 *
 * | X-Sandbox-Pod-IP | address |
 * |---|---|
 * | none | the Pod's first |
 * | one of the Pod's | that |
 * | one that an earlier Pod of the Sandbox had: the client has not noticed yet | the Pod's first |
 * | any other | refused (502: clients then look for the address again) |
 */
export function addressFor(
  { name, podIP }: Target,
  { ip, pod }: Extract<Reachability, { state: "reachable" }>,
  entry: Entry | undefined,
): string | Refusal {
  if (podIP === undefined || podIP === ip) return ip;
  if (pod.ips.includes(podIP)) return podIP;
  if (entry?.formerIPs.includes(podIP)) return ip;
  return unreachable(name, "X-Sandbox-Pod-IP is not an address of its Pod");
}
