/** Finds the kubeconfig of a command line. @module */
import { chooseKubeconfig, type Chosen, kubeconfigPlaces } from "../../kube/kubeconfig.ts";
import { Failure } from "../failure.ts";
import type { Where } from "../commandcontext.ts";

/**
 * Finds the kubeconfig: the named file, else the files in `KUBECONFIG`, else `~/.kube/config`.
 *
 * @returns undefined if there is none and this is a Pod, whose ServiceAccount is then used
 * @throws {Failure} if there is none and this is not a Pod
 */
export function findKubeconfig(
  { kubeconfig, context }: Where,
  env: Record<string, string | undefined>,
): Chosen | undefined {
  if (kubeconfig !== undefined) return { path: kubeconfig, context };
  const places = kubeconfigPlaces(env);
  const chosen = chosenOf(places, context);
  if (chosen || (env["KUBERNETES_SERVICE_HOST"] && context === undefined)) return chosen;
  throw new Failure(
    `Cannot find a cluster: there is no ${places.join(" nor ")}`,
    "Name a kubeconfig with --kubeconfig or KUBECONFIG.",
  );
}

function chosenOf(places: readonly string[], context: string | undefined): Chosen | undefined {
  try {
    return chooseKubeconfig(places, context);
  } catch (error) {
    throw new Failure(error instanceof Error ? error.message : String(error));
  }
}
