/** Checks Metacontroller, the controllers registered with it, and their hooks. @module */
import type { KubeObject } from "../../api/objects/objects.ts";
import { isOk, messageOf, pathOf } from "../../kube/api.ts";
import { type Check, type CheckInput, type CheckResult, installAdvice, itemsOf, read } from "./check.ts";

const CONTROLLERS = [
  ["compositecontrollers", "sandbox"],
  ["compositecontrollers", "sandboxwarmpool"],
  ["decoratorcontrollers", "sandboxclaim"],
  ["decoratorcontrollers", "sandboxtemplate"],
] as const;
const API = "/apis/metacontroller.k8s.io/v1alpha1";

interface Controller extends KubeObject {
  spec: { hooks?: Record<string, { webhook?: { url?: string } }> };
}

/** Checks whether the controllers are registered, and whether their hooks answer. */
export const checkControllers: Check = async (input) => {
  const found = await Promise.all(CONTROLLERS.map(async ([resource, name]) => {
    return { name, answer: await read(input, `${API}/${resource}/${name}`) };
  }));
  const bad = found.filter(({ answer }) => !isOk(answer));
  const [first] = bad;
  if (first && bad.every(({ answer }) => answer.status === 403)) {
    return [{ mark: "warn", what: "Controllers", text: `cannot be read: ${messageOf(first.answer)}` }];
  }
  const controllers: CheckResult = first
    ? {
      mark: "fail",
      what: "Controllers",
      text: `missing: ${bad.map(({ name }) => name).join(", ")}`,
      remedy: `Register them: ${await installAdvice(input)}`,
    }
    : { mark: "ok", what: "Controllers", text: found.map(({ name }) => name).join(", ") };
  const good = found.filter(({ answer }) => isOk(answer));
  return [
    controllers,
    ...await Promise.all(good.map(({ name, answer }) => {
      return checkHook(input, name, (answer.body as Controller).spec.hooks?.["sync"]?.webhook?.url ?? "");
    })),
  ];
};

/** Checks a hook behind a Service, through the API server, or at another address. */
async function checkHook(input: CheckInput, name: string, address: string): Promise<CheckResult> {
  const what = `Hook ${name}`;
  const url = URL.parse(address);
  if (!url) {
    return {
      mark: "fail",
      what,
      text: `its URL is invalid: "${address}"`,
      remedy: "Use --hooks-url of hookbox install.",
    };
  }
  const [service = "", namespace, kind = "svc"] = url.hostname.split(".");
  const isService = namespace !== undefined && kind === "svc" && !/^\d+$/.test(namespace);
  if (!isService) return await checkAddress(input, what, url);
  const deployment = await read(input, pathOf({ resource: "deployments", namespace, name: service }));
  if (isOk(deployment)) return replicasOf(what, deployment.body as Deployment);
  const path = `/api/v1/namespaces/${namespace}/services/${service}:${url.port || "80"}/proxy/healthz`;
  const answer = await read(input, path);
  if (isOk(answer)) return { mark: "ok", what, text: `answers at ${url.host}` };
  if (answer.status === 403) {
    return { mark: "warn", what, text: `cannot be checked at ${url.host}: ${messageOf(answer)}` };
  }
  const remedy = `Check Service ${service} in namespace ${namespace}, or run the hooks: hookbox serve`;
  return { mark: "fail", what, text: `does not answer at ${url.host}: ${messageOf(answer)}`, remedy };
}

interface Deployment extends KubeObject {
  spec: { replicas?: number };
  status?: { readyReplicas?: number };
}

/**
 * Checks the replicas only. If NetworkPolicies are enforced, only Metacontroller and the hook's node can reach the
 * hook, and the node's readiness probe has reached it already.
 */
function replicasOf(what: string, { metadata: { namespace, name }, spec, status }: Deployment): CheckResult {
  const { replicas = 1 } = spec;
  const ready = status?.readyReplicas ?? 0;
  const text = `${ready} of ${replicas} replicas of Deployment ${namespace}/${name} ready`;
  if (ready > 0 && ready >= replicas) return { mark: "ok", what, text };
  const remedy = `Find out why: kubectl -n ${namespace} describe pods -l app.kubernetes.io/name=${name}`;
  return { mark: ready > 0 ? "warn" : "fail", what, text, remedy };
}

async function checkAddress({ fetch }: CheckInput, what: string, url: URL): Promise<CheckResult> {
  try {
    const answer = await fetch(new URL("/healthz", url), { signal: AbortSignal.timeout(5000) });
    await answer.body?.cancel();
    if (answer.ok) return { mark: "ok", what, text: `answers at ${url.host}` };
    return {
      mark: "fail",
      what,
      text: `answers HTTP ${answer.status} at ${url.host}`,
      remedy: "Read its log.",
    };
  } catch {
    const remedy = "Run the hooks where Metacontroller can reach them: hookbox serve";
    return { mark: "warn", what, text: `cannot be reached from here at ${url.host}`, remedy };
  }
}

interface Pod extends KubeObject {
  spec: { containers: { image?: string; args?: string[]; command?: string[] }[] };
  status?: { phase?: string; conditions?: { type: string; status: string }[] };
}

/** Checks whether Metacontroller runs, and with which flags. */
export const checkMetacontroller: Check = async (input) => {
  const what = "Metacontroller";
  const answer = await read(input, "/api/v1/pods", { labelSelector: "app.kubernetes.io/name=metacontroller" });
  const pods = itemsOf<Pod>(answer);
  const running = pods?.filter(({ status }) => status?.phase === "Running") ?? [];
  const [pod] = running;
  if (!pod) return [await checkStatuses(input, pods ? undefined : messageOf(answer))];
  const { image = "", args = [], command = [] } = pod.spec.containers[0] ?? { args: [] };
  const flags = flagsOf([...command, ...args]);
  const text = `${image}, ${running.length === 1 ? "1 Pod" : `${running.length} Pods`}`;
  const strategy = flags.get("apply-strategy") ?? "dynamic-apply";
  if (strategy !== "dynamic-apply") {
    const remedy = "Start it with --apply-strategy=dynamic-apply: other strategies cannot express preconditions.";
    return [{ mark: "fail", what, text: `${text}, with --apply-strategy=${strategy}`, remedy }];
  }
  if (Number(flags.get("client-go-qps") ?? 5) >= 100) return [{ mark: "ok", what, text }];
  const remedy = "Start it with --client-go-qps=1000 --client-go-burst=2000 --workers=20.";
  return [{
    mark: "warn",
    what,
    text: `${text}, limited to ${flags.get("client-go-qps") ?? 5} requests per second`,
    remedy,
  }];
};

function flagsOf(args: string[]): Map<string, string> {
  const words = args.flatMap((arg) => /^--?([a-z-]+)=(.*)$/.exec(arg)?.slice(1, 3) ?? [arg.replace(/^--?/, "")]);
  return new Map(words.map((word, i) => [word, words[i + 1] ?? ""]));
}

interface ReconciledObject extends KubeObject {
  status?: { observedGeneration?: number; conditions?: unknown[] };
}

/**
 * Checks the status of Sandboxes instead, because Metacontroller may run outside of the cluster, or its Pods may not be
 * read. @param refusal why its Pods cannot be read; undefined: there are none
 */
async function checkStatuses(input: CheckInput, refusal: string | undefined): Promise<CheckResult> {
  const what = "Metacontroller";
  let answer = await read(input, pathOf({ resource: "sandboxes" }), { limit: "100" });
  if (answer.status === 403) {
    answer = await read(input, pathOf({ resource: "sandboxes", namespace: input.cluster.namespace }), { limit: "100" });
  }
  const sandboxes = itemsOf<ReconciledObject>(answer) ?? [];
  const current = sandboxes.filter(({ metadata, status }) => {
    return status?.conditions !== undefined && status.observedGeneration === metadata.generation;
  });
  const why = refusal === undefined ? "no Pod of it was found" : "its Pods cannot be read";
  if (current.length > 0) {
    const text = `${why}, but ${current.length} of ${sandboxes.length} Sandboxes are up to date`;
    return { mark: "ok", what, text };
  }
  if (refusal !== undefined) {
    const remedy = "Let somebody run hookbox doctor who may list Pods of all namespaces.";
    return { mark: "warn", what, text: `cannot be checked: ${refusal}`, remedy };
  }
  const remedy =
    "Install Metacontroller 4.17 or later: https://metacontroller.github.io/metacontroller/guide/install.html";
  return { mark: sandboxes.length > 0 ? "fail" : "warn", what, text: why, remedy };
}
