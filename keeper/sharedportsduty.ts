/** Keeps Metacontroller from merging ports that share a number, for each Pod and Service once. @module */
import type { Sandbox } from "../api/sandbox.ts";
import { controllerOf } from "../lib/objects.ts";
import { answerError, type Api, isOk, pathOf } from "./api.ts";
import { findChild } from "./childprobe.ts";
import { type Child, RESOURCES } from "./children.ts";
import type { Duty } from "./duty.ts";
import type { Report } from "./report.ts";
import { podSharesPorts, portsState, serviceSharesPorts, silencingPatch } from "./sharedports.ts";

/** Makes the duty. Idempotent: what has been taken out already is read once more after a restart, and left as it is. */
export function sharedPortsDuty(api: Api, report: Report): Duty<Sandbox> {
  /** The state that was dealt with. */
  const memory = new Map<string, string>();
  return {
    name: "shared ports",
    memory,
    dueAt(sandbox, now) {
      const state = portsState(sandbox);
      return state === undefined || memory.get(sandbox.metadata.uid ?? "") === state ? undefined : now;
    },
    async act(sandbox) {
      const state = portsState(sandbox);
      if (state === undefined) return;
      const { spec } = sandbox.spec.podTemplate;
      if (podSharesPorts(spec)) await silence("Pod", sandbox, api, report);
      if (serviceSharesPorts(spec) && sandbox.status?.service) await silence("Service", sandbox, api, report);
      memory.set(sandbox.metadata.uid ?? "", state);
    },
  };
}

/** The kubelet writes the status of a young Pod often, so that a patch may come too late. */
const TRIES = 5;

async function silence(kind: Child["kind"], sandbox: Sandbox, api: Api, report: Report): Promise<void> {
  const { namespace, name, uid } = sandbox.metadata;
  const path = pathOf({ resource: RESOURCES[kind], namespace, name });
  for (let tries = 1;; tries++) {
    const object = await findChild(api, sandbox, { kind, name });
    const body = object && controllerOf(object.metadata)?.uid === uid ? silencingPatch(object) : undefined;
    if (!body) return;
    const answer = await api.send({ method: "PATCH", path, body });
    if (isOk(answer)) return report("spec left out of last-applied", sandbox.metadata, { kind });
    if (answer.status === 404) return;
    if (answer.status !== 409 || tries === TRIES) throw answerError(`annotate ${kind} ${namespace}/${name}`, answer);
  }
}
