/** Waits until the Deployments of an installation are rolled out, and reports those that are not. @module */
import { type Api, isOk, pathOf } from "../../kube/api.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { pause } from "../../sdk/runtime/repeat.ts";
import type { CommandContext } from "../commandcontext.ts";
import { Failure } from "../failure.ts";
import { humanDuration } from "../../summary/age.ts";
import { spinning } from "../terminal/spinner.ts";

const LOOK_MS = 1000;

/** The fields of a Deployment that concern its rollout (apps/v1). */
export interface Rollout extends KubeObject {
  spec: { replicas?: number };
  status?: { observedGeneration?: number; updatedReplicas?: number; readyReplicas?: number; replicas?: number };
}

/** Waits for the Deployments among `objects`. @throws {Failure} if one is not rolled out in time */
export async function untilRolledOut(
  context: CommandContext,
  api: Api,
  objects: readonly KubeObject[],
  timeoutMs: number,
): Promise<void> {
  const deployments = objects.filter(({ kind }) => kind === "Deployment");
  const begun = performance.now();
  await spinning(context, "Waiting for Deployments", async (spinner) => {
    for (;;) {
      const lacking = (await Promise.all(deployments.map((one) => look(api, one)))).filter((one) => one !== undefined);
      if (lacking.length === 0) return;
      const waited = performance.now() - begun;
      if (waited >= timeoutMs) {
        const remedy =
          'Look at their Pods: kubectl get pods -A -l app.kubernetes.io/part-of=hookbox, and "hookbox doctor".';
        throw new Failure(`Not ready after ${humanDuration(waited)}: ${lacking.join(", ")}`, remedy);
      }
      spinner.say(`Waiting for ${humanDuration(waited)}: ${lacking.join(", ")}`);
      await pause(LOOK_MS, context.signal);
    }
  });
}

async function look(api: Api, { metadata: { namespace = "", name } }: KubeObject): Promise<string | undefined> {
  const answer = await api.send({ method: "GET", path: pathOf({ resource: "deployments", namespace, name }) });
  if (!isOk(answer)) return `${namespace}/${name} (cannot be read)`;
  return lackOf(answer.body as Rollout);
}

/**
 * Returns what is missing in the rollout of a Deployment. Undefined if all of its Pods are Ready and from the newest
 * template, and there are no other Pods.
 */
export function lackOf({ metadata, spec, status = {} }: Rollout): string | undefined {
  const { replicas: wanted = 1 } = spec;
  const { observedGeneration = 0, updatedReplicas = 0, readyReplicas = 0, replicas = 0 } = status;
  const isSeen = observedGeneration >= (metadata.generation ?? 0);
  const ready = isSeen ? Math.min(updatedReplicas, readyReplicas) : 0;
  const isEnough = isSeen && ready >= wanted;
  if (isEnough && replicas <= wanted) return undefined;
  const old = isEnough ? `, and ${replicas - wanted} old` : "";
  return `${metadata.namespace}/${metadata.name} (${ready} of ${wanted}${old})`;
}
