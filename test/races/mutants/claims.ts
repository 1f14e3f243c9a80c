/** Races of claims, their Sandboxes and their volumes that were mended, put back. @module */
import {
  DRAINING_LABEL,
  FIRST_OBSERVED_ANNOTATION,
  FIRST_READY_ANNOTATION,
} from "../../../packages/api/objects/keys.ts";
import type { ApiRequest } from "../../../packages/kube/api.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";
import type { Mutant } from "./mutant.ts";
import { type Answered, answering, type Asked, asking, seeing, sending } from "./parts.ts";

export const CLAIM_MUTANTS: Mutant[] = [
  {
    name: "the binder gives what is marked",
    reason: "it is deleted",
    foundBy: 70,
    variant: { binderApi: seeing(unmarked) },
  },
  {
    name: "a write without an answer counts as one that did not land",
    reason: "the claim gets another Sandbox",
    foundBy: 19,
    on: "rash",
  },
  {
    name: "the hook of claims does not see when a claim was first seen, and first Ready",
    reason: "these times are set once",
    foundBy: 1,
    variant: { hooks: { sandboxclaim: asking(forgetTimes) } },
  },
  {
    name: "volumes are left out while a Sandbox is suspended",
    reason: "what an answer leaves out is deleted",
    foundBy: 4,
    variant: { hooks: { sandbox: answering(withoutVolumes) } },
  },
  {
    name: "the keeper deletes what has expired whatever has changed",
    reason: "its user may have put off the end, or made it anew",
    foundBy: 36,
    variant: { keeperApi: sending(withoutPreconditions) },
  },
];

function unmarked(object: KubeObject): KubeObject {
  const { [DRAINING_LABEL]: mark, ...labels } = object.metadata.labels ?? {};
  return mark === undefined ? object : { ...object, metadata: { ...object.metadata, labels } };
}

function forgetTimes({ parent: { metadata } }: Asked): void {
  delete metadata.annotations?.[FIRST_OBSERVED_ANNOTATION];
  delete metadata.annotations?.[FIRST_READY_ANNOTATION];
}

function withoutVolumes(answer: Answered, { parent }: Asked): object {
  const { operatingMode } = parent["spec"] as { operatingMode?: string };
  if (operatingMode !== "Suspended") return answer;
  return { ...answer, children: answer.children?.filter(({ kind }) => kind !== "PersistentVolumeClaim") };
}

function withoutPreconditions(request: ApiRequest): ApiRequest {
  const { preconditions: _, ...body } = (request.body ?? {}) as { preconditions?: object };
  return request.method === "DELETE" ? { ...request, body } : request;
}
