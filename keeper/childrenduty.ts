/** Finds out why children of a Sandbox do not come into being: has them adopted, or leaves word why not. @module */
import type { Sandbox } from "../api/sandbox.ts";
import { type Problem, readUnresolved } from "../api/unresolved.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { type Api, messageOf } from "../kube/api.ts";
import { findChild, offerForAdoption, tryToCreate } from "./childprobe.ts";
import { type Builders, type Child, wantedChildren } from "./children.ts";
import { diagnose } from "./diagnose.ts";
import type { Duty } from "./duty.ts";
import { type Outcome, PACE, type Pace, situationOf } from "./look.ts";
import { lookDuty } from "./lookduty.ts";
import { dryRunVerdict } from "./refusal.ts";
import type { Report } from "./report.ts";
import { publishProblems } from "./unresolved.ts";

/** What the duty works with. */
export interface ChildrenDutyOptions {
  api: Api;
  builders: Builders;
  report: Report;
  log: Log;
  /** @default {PACE} */
  pace?: Pace;
  /** @default {systemClock} */
  clock?: Clock;
}

/** What is known of one child; `isOurs`: there is nothing to come back for. */
interface Finding {
  problem?: Problem | undefined;
  isOurs: boolean;
}

/** Makes the duty. A Sandbox that is Ready and carries no annotation costs no request. */
export function childrenDuty(options: ChildrenDutyOptions): Duty<Sandbox> {
  const { api, report, pace = PACE, clock } = options;
  return lookDuty({
    name: "children",
    pace,
    clock,
    situationOf,
    async look(sandbox: Sandbox, { kind }) {
      const findings = kind === "leftover" ? [] : await findingsOf(sandbox, options);
      const problems = findings.flatMap(({ problem }) => problem ?? []);
      const parent = { kind: "Sandbox", resource: "sandboxes", metadata: sandbox.metadata } as const;
      return await publishProblems(api, report, parent, problems) ? outcomeOf(sandbox, findings) : "problem";
    },
  });
}

function outcomeOf({ spec }: Sandbox, findings: Finding[]): Outcome {
  if (findings.some(({ problem }) => problem)) return "problem";
  if (spec.operatingMode === "Suspended") return "nothing";
  return findings.every(({ isOurs }) => isOurs) ? "whole" : "coming";
}

async function findingsOf(sandbox: Sandbox, options: ChildrenDutyOptions): Promise<Finding[]> {
  const wanted = wantedChildren(sandbox, options.builders);
  return await Promise.all(wanted.map(async (child) => {
    const found = await findChild(options.api, sandbox, child);
    return await findingOf(sandbox, { ...child, found }, options);
  }));
}

async function findingOf(sandbox: Sandbox, child: Child, options: ChildrenDutyOptions): Promise<Finding> {
  const verdict = diagnose(sandbox, child);
  switch (verdict.verdict) {
    case "ours":
      return { isOurs: true };
    case "pending":
      return { isOurs: false };
    case "problem":
      return { problem: verdict.problem, isOurs: false };
    case "missing":
      return { problem: await absenceOf(sandbox, child, options), isOurs: false };
    case "adopt": {
      const { api, report } = options;
      const isOffered = await offerForAdoption(api, sandbox, verdict.object);
      if (isOffered) report("adopted", sandbox.metadata, { kind: child.kind, child: child.name });
      return { isOurs: false };
    }
  }
}

/** A child that does not exist: undefined if nothing stands in its way. */
async function absenceOf(
  sandbox: Sandbox,
  child: Child,
  { api, log }: ChildrenDutyOptions,
): Promise<Problem | undefined> {
  if (sandbox.spec.operatingMode === "Suspended") return undefined;
  const answer = await tryToCreate(api, sandbox, child);
  const verdict = dryRunVerdict(child, answer);
  if (verdict === "fine") return undefined;
  if (verdict !== "unknown") return verdict;
  const { namespace, name } = sandbox.metadata;
  log("warn", "Dry run without an answer", { namespace, name, kind: child.kind, error: messageOf(answer) });
  const before = readUnresolved(sandbox.metadata)?.problems ?? [];
  return before.find(({ kind, name, state }) => kind === child.kind && name === child.name && state !== "taken");
}
