/** Reads the cause of a Pod's problem from the Sandbox's conditions, for users who may not read Pods. @module */
import { findCondition } from "../../objects/conditions.ts";
import type { Code } from "../catalogue.ts";
import { type Cause, cause } from "../finding.ts";
import { sandboxCause } from "../sandboxcause.ts";
import { evidenceOf, type Scene } from "../scene.ts";
import { imageCode } from "./image.ts";

/** The Pod could not be read, and the Sandbox's conditions show a cause. */
export function byConditions({ sandbox, at, pod }: Scene): Cause | undefined {
  const found = pod ? undefined : sandboxCause(sandbox);
  const conditions = sandbox.status?.conditions;
  const type = found?.reason === "Unschedulable" || found?.reason === "SchedulingGated"
    ? "PodScheduled"
    : "ContainersFailing";
  const condition = findCondition(conditions, type);
  if (!found || !condition) return undefined;
  return cause(codeOf(condition.reason, found.detail), {
    object: { ...at, kind: "Pod" },
    summary: `Pod "${at.name}" does not start: ${found.detail}`,
    evidence: evidenceOf(at, conditions, type),
    since: condition.lastTransitionTime,
    isGuess: true,
  });
}

function codeOf(reason: string, message: string): Code {
  const codes: Record<string, Code> = {
    SchedulingGated: "SchedulingGated",
    Unschedulable: "Unschedulable",
    ContainerCreationFailed: "ContainerConfigInvalid",
    ContainerCrashing: "CrashLoop",
  };
  return codes[reason] ?? imageCode(message);
}
