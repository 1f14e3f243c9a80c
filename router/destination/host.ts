/** The sandbox that a request names in its host: `<port>-<name>-<namespace>.<domain>`. Pure. @module */
import { isDNSLabel } from "../../lib/names.ts";
import { isRefusal } from "../refusal.ts";
import { checkedTarget, type Target } from "./target.ts";

const LABEL = /^([0-9]+)-(.+)$/;

/**
 * Reads a host name. Names and namespaces may contain dashes themselves: there can be several ways to read it.
 *
 * @param host as in the Host header, with or without a port
 * @param domain in lower case
 * @returns every way, `[]` if there is none; undefined for a host outside the domain: it names nothing
 */
export function targetsFromHost(host: string, domain: string): Target[] | undefined {
  const name = host.toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "");
  if (!name.endsWith(`.${domain}`)) return undefined;
  const [, port = "", rest = ""] = LABEL.exec(name.slice(0, -domain.length - 1)) ?? [];
  const dashes = [...rest].flatMap((character, i) => character === "-" ? [i] : []);
  return dashes.flatMap((i) => {
    const [id, namespace] = [rest.slice(0, i), rest.slice(i + 1)];
    const target = isDNSLabel(id) && isDNSLabel(namespace) ? checkedTarget(namespace, id, port) : undefined;
    return target && !isRefusal(target) ? [target] : [];
  });
}
