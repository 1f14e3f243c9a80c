/** Tells which clients the router of the cluster lets in. @module */
import { pathOf } from "../../kube/api.ts";
import { podSchema, reasonAgainstPod, textOf } from "../../router/access/portforward.ts";
import { readOptions, type RouterOptions } from "../../router/options.ts";
import { type CheckInput, type CheckResult, itemsOf, read } from "./check.ts";

/** A Deployment of the router, as far as it is read here. */
export interface RouterDeployment {
  metadata: { namespace?: string | undefined; name: string };
  spec: { template?: { spec?: { containers?: { args?: string[] }[] } } };
}

const MODES = {
  "tokenreview": "clients with a token whose user may connect to the Sandbox",
  "scoped-token": "clients with a token that was signed for the Sandbox",
  "allow-all": "every client that can reach it, without a token",
} satisfies Record<RouterOptions["authz"]["mode"], string>;

/** Returns who may use the router: clients with tokens, and those that connect through `kubectl port-forward`. */
export async function checkRouterAccess(
  input: CheckInput,
  { metadata: { namespace = "" }, spec }: RouterDeployment,
  selector: string,
): Promise<CheckResult> {
  const what = "Router access";
  const options = optionsIn(spec.template?.spec?.containers?.[0]?.args ?? []);
  if (options === undefined) {
    const remedy = "Read the arguments of its container: docs/router.md tells what they mean.";
    return { mark: "warn", what, text: "the router's options cannot be read", remedy };
  }
  const { authz, trustPortForward } = options;
  if (authz.mode === "allow-all") {
    const remedy = "Keep other clients away with a NetworkPolicy, or remove --authz-mode=allow-all.";
    return { mark: "warn", what, text: MODES[authz.mode], remedy };
  }
  if (authz.mode === "tokenreview" && !authz.authzTokenreviewRequireToken) {
    const remedy = "Remove --no-authz-tokenreview-require-token.";
    return { mark: "warn", what, text: "every client that can reach it: a token is not required", remedy };
  }
  const reason = trustPortForward
    ? await reasonAgainstPods(input, namespace, selector)
    : "the router has the option --no-trust-port-forward";
  const others = reason === undefined
    ? `; also clients of kubectl port-forward (who may create pods/portforward in ${namespace})`
    : `; kubectl port-forward is not enough: ${reason}`;
  return { mark: "ok", what, text: `${MODES[authz.mode]}${others}` };
}

/** Reads the options from the arguments of the container: the first one is the program. */
function optionsIn([, ...args]: string[]): RouterOptions | undefined {
  try {
    return readOptions(args);
  } catch {
    return undefined;
  }
}

async function reasonAgainstPods(
  input: CheckInput,
  namespace: string,
  labelSelector: string,
): Promise<string | undefined> {
  const pods = itemsOf<unknown>(await read(input, pathOf({ resource: "pods", namespace }), { labelSelector }));
  if (!pods) return "its Pods cannot be read";
  const reasons = pods.map((pod) => {
    const parsed = podSchema.safeParse(pod).data;
    return parsed ? reasonAgainstPod(parsed) : { reason: "its Pods cannot be read" };
  });
  const found = reasons.find((reason) => reason !== undefined);
  return found && textOf(found);
}
