/**
 * Admits requests through `kubectl port-forward` without a token: the API server has checked that their client may create
 * `pods/portforward` of the router's Pod. They arrive from a loopback address, and so does what a sidecar forwards, so the
 * router first reads its own Pod.
 * @module
 */
import type { IncomingMessage } from "node:http";
import * as z from "zod";
import { answerError, type Api, isOk, pathOf } from "../../kube/api.ts";
import { isLoopback, isLoopbackHost } from "../../process/hosts.ts";
import { errorFields, type Log } from "../../process/log.ts";
import { hostOf, type Route } from "../destination.ts";

/** The Pod in which the router runs. */
export interface OwnPod {
  namespace: string;
  name: string;
  /** Addresses of the network interfaces that this process sees. */
  addresses: readonly string[];
}

/** Why a request from a loopback address is not trusted. */
export interface PortForwardReason {
  /** A part of a sentence. Strangers may read it, so it has no names of the cluster. */
  reason: string;
  /** The names that belong to it, for the log and for administrators; absent: there are none. */
  names?: string;
}

/** Whether a request from a loopback address is trusted. */
export type PortForwardVerdict =
  | { isTrusted: true }
  /** `isTemporary`: the API server does not answer, so the same request may be trusted later. */
  | PortForwardReason & { isTrusted: false; isTemporary: boolean };

/** Decides about a request without a token. Returns undefined if it does not come from a loopback address. */
export type PortForwardCheck = (
  request: IncomingMessage,
  via: Route["via"],
) => PortForwardVerdict | undefined | Promise<PortForwardVerdict>;

/** How long the router relies on what it has read about its Pod, in milliseconds. */
const KEPT_MS = 2000;
const TRUSTED = { isTrusted: true } as const;
/** Strangers may read it, so only the log has the error. */
const UNREADABLE: PortForwardVerdict = {
  isTrusted: false,
  reason: "the API server does not say what the router's Pod has in it",
  isTemporary: true,
};

/**
 * Creates the check.
 *
 * | request from a loopback address | verdict |
 * |---|---|
 * | a browser sent it: pages of other origins, and pages of sandboxes, could send it too | not trusted |
 * | a proxy has forwarded it | not trusted |
 * | its URL names the sandbox: a link that the client follows could send it too | not trusted |
 * | its Host is not `localhost` or a loopback address: browsers send no Sec-Fetch-Site to other hosts over plain HTTP | not trusted |
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
    let error: unknown;
    const verdict = await readVerdict(api, pod).catch((caught): PortForwardVerdict => {
      error = caught;
      return UNREADABLE;
    });
    if (reasonOf(verdict) !== reasonOf(known?.verdict)) report(log, verdict, error);
    known = { verdict, at };
    return verdict;
  };
  return (request, via) => {
    const { remoteAddress = "", localAddress = "" } = request.socket;
    if (!isLoopback(remoteAddress) || !isLoopback(localAddress)) return undefined;
    const reason = reasonAgainst(request, via);
    if (reason !== undefined) return { isTrusted: false, reason, isTemporary: false };
    if (known && now() - known.at < KEPT_MS) return known.verdict;
    return reading ??= read().finally(() => reading = undefined);
  };
}

function reasonOf(verdict: PortForwardVerdict | undefined): string | undefined {
  return verdict && (verdict.isTrusted ? "" : textOf(verdict));
}

/** Returns a reason with its names. */
export function textOf({ reason, names }: PortForwardReason): string {
  return names === undefined ? reason : `${reason} (${names})`;
}

function report(log: Log, verdict: PortForwardVerdict, error: unknown): void {
  if (verdict.isTrusted) return log("info", "Requests through kubectl port-forward need no token");
  const fields = error === undefined ? {} : { ...errorFields(error), stack: undefined };
  log("warn", `Requests through kubectl port-forward need a token: ${textOf(verdict)}`, fields);
}

function reasonAgainst(request: IncomingMessage, via: Route["via"]): string | undefined {
  if (isOfBrowser(request)) return "a browser sent the request";
  if (Object.keys(request.headers).some((name) => OF_PROXY.test(name))) return "a proxy forwarded the request";
  if (via !== "headers") return "the request names its sandbox by its URL and not by X-Sandbox-ID";
  return isLoopbackHost(hostOf(request)) ? undefined : "the Host of the request is not localhost or a loopback address";
}

const OF_PROXY = /^(x-forwarded-.*|forwarded|via|x-real-ip)$/;

/** Pages can remove Referer, and some requests of browsers have no Origin and no Sec-Fetch-Site. */
function isOfBrowser({ headers }: IncomingMessage): boolean {
  return ["origin", "sec-fetch-site", "referer"].some((name) => headers[name] !== undefined) ||
    /^mozilla\//i.test(headers["user-agent"] ?? "");
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
  const reason = await reasonInPod(api, pod);
  return reason === undefined ? TRUSTED : { isTrusted: false, ...reason, isTemporary: false };
}

/** Returns why requests to this Pod are not trusted. @throws {Error} if the API server gives no answer */
async function reasonInPod(
  api: Api,
  { namespace, name, addresses }: OwnPod,
): Promise<PortForwardReason | undefined> {
  const names = `${namespace}/${name}`;
  // The router may list Pods, to find sandboxes. It needs no other right for its own.
  const query = { fieldSelector: `metadata.name=${name}` };
  const answer = await api.send({ method: "GET", path: pathOf({ resource: "pods", namespace }), query });
  if (answer.status === 403) return { reason: "the router may not list Pods of its namespace", names: namespace };
  if (!isOk(answer)) throw answerError(`read Pod ${names}`, answer);
  const [pod] = listSchema.safeParse(answer.body).data?.items ?? [];
  if (!pod) return { reason: "the router cannot find its Pod", names };
  const isHere = pod.status.podIPs?.some(({ ip }) => addresses.includes(ip)) === true;
  return reasonAgainstPod(pod) ??
    (isHere ? undefined : { reason: "this process does not have the address of its Pod", names });
}

/** Returns why something else in this Pod may forward requests of others to its router; undefined: nothing does. */
export function reasonAgainstPod(pod: RouterPod): PortForwardReason | undefined {
  const { hostNetwork, containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  if (hostNetwork === true) return { reason: "the router's Pod uses the network of its node" };
  const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === "Always");
  const all = [...containers, ...sidecars, ...ephemeralContainers].map(({ name }) => name);
  if (all.length !== 1) return { reason: `the router's Pod has ${all.length} containers`, names: all.join(", ") };
  const redirection = REDIRECTION.find((key) => Object.hasOwn(pod.metadata.annotations ?? {}, key));
  return redirection === undefined ? undefined : { reason: `the router's Pod has the annotation ${redirection}` };
}
