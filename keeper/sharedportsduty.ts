/** Keeps Metacontroller from merging ports that share a number, for each Pod and Service once. @module */
import type { Sandbox } from "../api/sandbox.ts";
import { controllerOf } from "../lib/objects.ts";
import type { Api } from "../kube/api.ts";
import { findChild } from "./childprobe.ts";
import { type Child, RESOURCES } from "./children.ts";
import type { Duty } from "./duty.ts";
import { sendPatch } from "../kube/patch.ts";
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
  for (let tries = 1; tries <= TRIES; tries++) {
    const object = await findChild(api, sandbox, { kind, name });
    const body = object && controllerOf(object.metadata)?.uid === uid ? silencingPatch(object) : undefined;
    if (!object || !body) return;
    const isWritten = await sendPatch(api, { kind, resource: RESOURCES[kind], metadata: object.metadata }, body);
    if (isWritten) return report("spec left out of last-applied", sandbox.metadata, { kind });
  }
  throw new Error(`Cannot annotate ${kind} ${namespace}/${name}: it has changed each of ${TRIES} times`);
}
