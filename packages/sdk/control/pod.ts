/** Finds the Pod of a Sandbox, and resumes the Sandbox if it is suspended. @module */
import { WAKE_TIMEOUT_MS } from "../../api/router/timeouts.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { Api } from "../../kube/api.ts";
import { podNameOf } from "../../api/podname.ts";
import { ConnectionError } from "../errors.ts";
import type { PodPlace, PodWishes } from "../transport/direct.ts";
import { setMode } from "./change.ts";
import { readSandbox } from "./find.ts";
import { type Diagnose, untilReady } from "./ready.ts";
import { readinessOf } from "./readiness.ts";
import { refOf, type Target } from "./target.ts";

/**
 * Finds the Pod of a Sandbox, and waits until the Sandbox is Ready.
 *
 * @throws {@link ConnectionError} if the Sandbox is suspended and `wake` is false
 */
export async function findPod(
  api: Api,
  namespace: string,
  name: string,
  { wake, signal }: PodWishes,
): Promise<PodPlace> {
  const target: Target = { kind: "Sandbox", namespace, name };
  let sandbox: Sandbox = await readSandbox(api, namespace, name, signal);
  if (sandbox.spec.operatingMode === "Suspended") {
    if (!wake) {
      const details = { object: refOf(target), reason: "SandboxSuspended", mayHaveArrived: false };
      throw new ConnectionError(`Cannot reach sandbox ${namespace}/${name}: it is suspended`, details);
    }
    sandbox = await setMode(api, target, "Running", signal);
  }
  const readiness = readinessOf(sandbox);
  if (readiness.state === "ready") return { namespace, name: podNameOf(sandbox), ip: readiness.podIPs[0] ?? "" };
  const { claimOrSandbox, podIPs } = await untilReady(api, target, {
    // The same time as a router waits.
    readyTimeoutMs: WAKE_TIMEOUT_MS,
    diagnose: diagnoseNothing,
    longer: "To wait longer, call `resume` with a `readyTimeoutMs`.",
    known: sandbox,
    ...signal ? { signal } : {},
  });
  // Read the name after the wait. On a copied Sandbox, it is the name of the original's Pod until the keeper corrects
  // it.
  return { namespace, name: podNameOf(claimOrSandbox), ip: podIPs[0] ?? "" };
}

const diagnoseNothing: Diagnose = () => Promise.resolve(undefined);
