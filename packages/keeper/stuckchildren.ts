/** Children of a Sandbox that exist, and that the API server does not let Metacontroller change or delete. @module */
import type { Sandbox } from "../api/sandbox.ts";
import { readUnresolved } from "../api/unresolved.ts";
import { controllerOf, type KubeObject, kubeObjectSchema } from "../api/objects/objects.ts";
import { findObject } from "../kube/find.ts";
import { systemClock } from "../process/clock.ts";
import type { ChildKind, ChildrenReconcilerOptions, Finding } from "./children.ts";
import { outstandingWrite } from "./refusedwrites.ts";

type StuckOptions = Pick<ChildrenReconcilerOptions, "api" | "clock" | "refusedWrites">;

/** A Service that is not wanted any more, and is not let go. */
export async function leavingService(sandbox: Sandbox, options: StuckOptions): Promise<Finding | undefined> {
  if (sandbox.spec.service !== false || wordsOfStuck(sandbox, "Service", options) === undefined) return undefined;
  const { uid, namespace, name } = sandbox.metadata;
  const found = await findObject(options.api, { resource: "services", namespace, name }, kubeObjectSchema);
  return found && controllerOf(found.metadata)?.uid === uid ? stuckOrOurs(sandbox, found, options) : undefined;
}

/** Judges a child of the Sandbox by what is still to be written of it, and what the API server has said of that. */
export function stuckOrOurs(sandbox: Sandbox, found: KubeObject, options: StuckOptions): Finding {
  const { name } = found.metadata;
  const kind = found.kind as ChildKind;
  const words = wordsOfStuck(sandbox, kind, options);
  const verb = words === undefined ? undefined : outstandingWrite(sandbox, found);
  if (words === undefined || !verb) return { isOurs: true };
  return {
    problem: { kind, name, state: "stuck", message: `cannot ${verb} ${kind} "${name}": ${words}` },
    isOurs: true,
  };
}

/** What was said before holds until the write has landed: Events go, and a new keeper may have come too late for them. */
function wordsOfStuck(
  { metadata }: Sandbox,
  kind: ChildKind,
  { refusedWrites, clock = systemClock }: StuckOptions,
): string | undefined {
  const news = refusedWrites?.of(metadata.uid, clock.now());
  const before = readUnresolved(metadata)?.problems.find((problem) =>
    problem.kind === kind && problem.state === "stuck"
  );
  return news ?? before?.message.replace(/^cannot (?:update|delete) \w+ "[^"]*": /, "");
}
