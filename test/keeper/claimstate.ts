/** Claims and their Sandboxes as they agree or differ, for the tests of what requeues claims. @module */
import { aClaim, aClaimsSandbox, aCondition, CLAIM, CLAIMS_SANDBOX } from "./extensions.ts";
import { asked, server } from "./stage.ts";

/** Ready: status and reason; the message is empty unless it is given. */
type Ready = [string, string, string?];

const READY: Ready = ["True", "DependenciesReady"];
export const SUSPENDED: Ready = ["False", "SandboxSuspended"];
export const EXPIRED: Ready = ["False", "ClaimExpired"];
const IP = ["10.1.0.7"];

/** What tests vary in a claim and its Sandbox; `observed` is the generation that Ready names. */
export interface Shown {
  ready?: Ready | undefined;
  podIPs?: string[];
  generation?: number;
  observed?: number | "absent";
  spec?: object;
  metadata?: object;
}

const conditionsOf = (ready: Ready | undefined, over: object = {}) =>
  ready ? [aCondition("Ready", ready[0], ready[1], { message: ready[2] ?? "", ...over })] : [];

/** Makes the claim of a number, bound to the Sandbox of this number. Number 0 is `job` with `s`. */
export function claimOf(
  number: number,
  { ready = READY, podIPs = IP, generation = 1, observed = 1, spec, metadata }: Shown,
) {
  const uid = number === 0 ? "uid-job" : `uid-job${number}`;
  return aClaim({
    metadata: { ...number === 0 ? {} : { name: `job${number}` }, uid, generation, ...metadata },
    ...(spec ? { spec } : {}),
    status: {
      sandbox: { name: nameOf(number), podIPs },
      conditions: conditionsOf(ready, observed === "absent" ? {} : { observedGeneration: observed }),
    },
  });
}

/** Makes the Sandbox of the claim of a number. */
export function sandboxOf(
  number: number,
  { ready = READY, podIPs = IP, metadata }: Shown & { ready?: Ready | undefined },
) {
  const owner = { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxClaim", name: "job" };
  const ownerReferences = [{ ...owner, uid: number === 0 ? "uid-job" : `uid-job${number}`, controller: true }];
  return aClaimsSandbox("True", {
    metadata: {
      name: nameOf(number),
      uid: `uid-${nameOf(number)}`,
      resourceVersion: "1",
      ownerReferences,
      ...metadata,
    },
    status: { conditions: conditionsOf(ready), podIPs },
  });
}

const nameOf = (number: number) => number === 0 ? "s" : `s${number}`;
const pathOf = (number: number) => number === 0 ? CLAIMS_SANDBOX : `${CLAIMS_SANDBOX}${number}`;
/** Puts a claim. */
export const putClaim = (shown: Shown = {}, number = 0) =>
  server.put(number === 0 ? CLAIM : `${CLAIM}${number}`, { ...claimOf(number, shown) });
/** Puts a Sandbox; the annotation that the keeper has set stays. */
export function putSandbox(shown: Shown = {}, number = 0): void {
  const { annotations } = server.get(pathOf(number))?.metadata ?? {};
  const sandbox = sandboxOf(number, shown);
  Object.assign(sandbox.metadata, { annotations: { ...sandbox.metadata.annotations, ...annotations } });
  server.put(pathOf(number), { ...sandbox });
}
/** Returns when the keeper requeued the claim of a number last. */
export const woken = (number = 0) => server.get(pathOf(number))?.metadata.annotations?.["agents.x-k8s.io/woken-at"];
/** The request that requeues the claim of number 0. */
export const PATCH = "PATCH sandboxes/s";
/** Returns all requests that change something. */
export const patched = () => asked().filter((request) => !request.startsWith("GET"));
