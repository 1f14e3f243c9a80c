/**
 * Admits requests through `kubectl port-forward` without a token: the API server has checked that their client may create
 * `pods/portforward` of the router's Pod. They arrive from a loopback address, and so does what a sidecar forwards, so the
 * router first reads its own Pod.
 * @module
 */
import type { IncomingMessage } from "node:http";
import * as z from "zod";
import { type Api, isOk, messageOf, pathOf } from "../../kube/api.ts";
import { isLoopback } from "../../process/hosts.ts";
import type { Log } from "../../process/log.ts";

/** The Pod in which the router runs. */
export interface OwnPod {
  namespace: string;
  name: string;
  /** Addresses of the network interfaces that this process sees. */
  addresses: readonly string[];
}

/** Whether a request from a loopback address is trusted; if not, `reason` says why, as a part of a sentence. */
export type PortForwardVerdict = { isTrusted: true } | { isTrusted: false; reason: string; mayPass: boolean };

/** Decides about a request without a token. Returns undefined if it does not come from a loopback address. */
export type PortForwardCheck = (
  request: IncomingMessage,
) => PortForwardVerdict | undefined | Promise<PortForwardVerdict>;

/** How long the router relies on what it has read about its Pod, in milliseconds. */
const KEPT_MS = 2000;
const TRUSTED = { isTrusted: true } as const;

/**
 * Creates the check.
 *
 * | request from a loopback address | verdict |
 * |---|---|
 * | a browser sent it: pages of other origins, and pages of sandboxes, could send it too | not trusted |
 * | a proxy has forwarded it | not trusted |
 * | the router's Pod has a second container or the network of its node, or cannot be read | not trusted |
 * | any other | trusted |
 *
 * @param log tells once, and after each change, whether the Pod is suitable
 * @param now in milliseconds, of a monotonic clock
 */
export function createPortForwardCheck(
  { api, pod, log, now = () => performance.now() }: { api: Api; pod: OwnPod; log: Log; now?: () => number },
): PortForwardCheck {
  let known: { verdict: PortForwardVerdict; at: number } | undefined;
  let reading: Promise<PortForwardVerdict> | undefined;
  const read = async () => {
    const at = now();
    const verdict = await readVerdict(api, pod);
    if (reasonOf(verdict) !== reasonOf(known?.verdict)) report(log, verdict);
    known = { verdict, at };
    return verdict;
  };
  return (request) => {
    const { remoteAddress = "", localAddress = "" } = request.socket;
    if (!isLoopback(remoteAddress) || !isLoopback(localAddress)) return undefined;
    const reason = reasonAgainst(request);
    if (reason !== undefined) return { isTrusted: false, reason, mayPass: false };
    if (known && now() - known.at < KEPT_MS) return known.verdict;
    return reading ??= read().finally(() => reading = undefined);
  };
}

function reasonOf(verdict: PortForwardVerdict | undefined): string | undefined {
  return verdict && (verdict.isTrusted ? "" : verdict.reason);
}

function report(log: Log, verdict: PortForwardVerdict): void {
  if (verdict.isTrusted) log("info", "Requests through kubectl port-forward need no token");
  else log("warn", `Requests through kubectl port-forward need a token: ${verdict.reason}`);
}

function reasonAgainst({ headers }: IncomingMessage): string | undefined {
  if (["origin", "sec-fetch-site", "referer"].some((name) => headers[name] !== undefined)) {
    return "a browser sent the request";
  }
  if (["x-forwarded-for", "forwarded", "via"].some((name) => headers[name] !== undefined)) {
    return "a proxy forwarded the request";
  }
  return undefined;
}

const containers = z.array(z.object({ name: z.string(), restartPolicy: z.string().optional() }));
/** What the router reads of a Pod. */
export const podSchema = z.object({
  metadata: z.object({ annotations: z.record(z.string(), z.string()).optional() }),
  spec: z.object({
    hostNetwork: z.boolean().optional(),
    containers,
    initContainers: containers.optional(),
    ephemeralContainers: containers.optional(),
  }),
  status: z.object({ podIPs: z.array(z.object({ ip: z.string() })).optional() }),
});
type RouterPod = z.infer<typeof podSchema>;
const listSchema = z.object({ items: z.array(podSchema) });

/** Service meshes without sidecars note in these annotations that they redirect a Pod's traffic. */
const REDIRECTION = ["ambient.istio.io/redirection", "kmesh.net/redirection"];

async function readVerdict(api: Api, pod: OwnPod): Promise<PortForwardVerdict> {
  try {
    const reason = await reasonInPod(api, pod);
    return reason === undefined ? TRUSTED : { isTrusted: false, reason, mayPass: false };
  } catch (error) {
    return { isTrusted: false, reason: error instanceof Error ? error.message : String(error), mayPass: true };
  }
}

/** Returns why requests to this Pod are not trusted. @throws {Error} if the API server gives no answer */
async function reasonInPod(api: Api, { namespace, name, addresses }: OwnPod): Promise<string | undefined> {
  // The router may list Pods, to find sandboxes. It needs no other right for its own.
  const query = { fieldSelector: `metadata.name=${name}` };
  const answer = await api.send({ method: "GET", path: pathOf({ resource: "pods", namespace }), query });
  if (answer.status === 403) return `the router may not list Pods of namespace ${namespace}`;
  if (!isOk(answer)) throw new Error(`the router cannot read its Pod: ${messageOf(answer)}`);
  const [pod] = listSchema.safeParse(answer.body).data?.items ?? [];
  if (!pod) return `the router cannot find its Pod ${namespace}/${name}`;
  const isHere = pod.status.podIPs?.some(({ ip }) => addresses.includes(ip)) === true;
  return reasonAgainstPod(pod) ??
    (isHere ? undefined : `this process does not have the address of its Pod ${namespace}/${name}`);
}

/** Returns why something else in this Pod may forward requests of others to its router; undefined: nothing does. */
export function reasonAgainstPod(pod: RouterPod): string | undefined {
  const { hostNetwork, containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  if (hostNetwork === true) return "the router's Pod uses the network of its node";
  const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === "Always");
  const all = [...containers, ...sidecars, ...ephemeralContainers].map(({ name }) => name);
  if (all.length !== 1) return `the router's Pod has ${all.length} containers (${all.join(", ")})`;
  const redirection = REDIRECTION.find((key) => Object.hasOwn(pod.metadata.annotations ?? {}, key));
  return redirection === undefined ? undefined : `the router's Pod has the annotation ${redirection}`;
}
