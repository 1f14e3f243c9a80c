/** A Pod that the API server refuses because of a variable that the claim sets: the claim is to blame, not the template. @module */
import type { Sandbox } from "../../sandbox.ts";
import { type Cause, named } from "../finding.ts";
import type { ClaimGround } from "./claimground.ts";

/** A refused name of a variable; where the API server names several fields, the first counts. */
const REFUSED_NAME = /Pod "[^"]+" is invalid: \[?spec\.(containers|initContainers)\[(\d+)\]\.env\[(\d+)\]\.name: /;

/** Returns the cause that was found of the claim's Sandbox, with the claim as the culprit if a variable of the claim is. */
export function ofClaimsVariable({ claim, at }: ClaimGround, sandbox: Sandbox, found: Cause): Cause {
  if (found.code !== "InvalidConfiguration") return found;
  const index = variableOf(claim.spec.env ?? [], sandbox, found.evidence[0]?.text ?? "");
  if (index < 0) return found;
  const remedy = `Correct spec.env[${index}].name of ${named(at)}, then recreate the claim.`;
  return { ...found, object: at, path: [], remedy };
}

/** Returns the index of the claim's variable that these words are about; -1: they are about none. */
function variableOf(
  env: readonly { name: string; containerName?: string | undefined }[],
  { spec: { podTemplate } }: Sandbox,
  words: string,
): number {
  const [, list = "", container, variable] = REFUSED_NAME.exec(words) ?? [];
  const { containers, initContainers = [] } = podTemplate.spec;
  const target = (list === "containers" ? containers : initContainers)[Number(container)];
  const name = target?.env?.[Number(variable)]?.name;
  if (!target || name === undefined) return -1;
  return env.findIndex((one) => one.name === name && (one.containerName || containers[0]?.name) === target.name);
}
