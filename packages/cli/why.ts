/** Finds the object of `hookbox why`, and diagnoses it. @module */
import { CATALOGUE } from "../api/diagnosis/catalogue.ts";
import type { Subject } from "../api/diagnosis/facts.ts";
import type { Finding } from "../api/diagnosis/finding.ts";
import type { Api } from "../kube/api.ts";
import { explain } from "../sdk/control/facts.ts";
import { findKind } from "../summary/kinds.ts";

/** Order in which a name without a kind is searched. */
const ANY: Subject["kind"][] = ["SandboxClaim", "Sandbox", "SandboxWarmPool"];
const ALL: Subject["kind"][] = [...ANY, "SandboxTemplate"];

/**
 * Finds out why an object is in its state. A name without a kind means the claim, else the Sandbox, else the pool.
 *
 * @param name such as `claim/demo`, or without a kind
 * @throws {RangeError} if the kind is unknown, or the name is missing
 */
export async function runWhy(api: Api, name: string, namespace: string, signal?: AbortSignal): Promise<Finding> {
  const [first = "", second, ...more] = name.split("/");
  const kind = second === undefined ? undefined : ALL.find((one) => one === findKind(first)?.kind);
  if (second !== undefined && !kind) {
    throw new RangeError(`Cannot explain "${name}": kinds are claim, sandbox, pool and template`);
  }
  if ((second ?? first) === "" || more.length > 0) {
    throw new RangeError(`Cannot explain "${name}": write a name, or kind/name such as claim/session`);
  }
  let found: Finding | undefined;
  for (const candidate of kind ? [kind] : ANY) {
    const subject: Subject = { kind: candidate, namespace, name: second ?? first };
    const finding = await explain(api, subject, signal);
    if (kind || finding.code !== "NotFound") return finding;
    found ??= finding;
  }
  if (!found) throw new RangeError(`Cannot explain "${name}": it names nothing`);
  const summary = `There is no claim, Sandbox or pool "${name}" in namespace "${namespace}".`;
  return { ...found, summary, remedy: CATALOGUE.NotFound.remedy };
}
