/** `hookbox dashboard`: opens the dashboard in the browser, signed in, through a proxy on this machine. @module */
import type { Command } from "commander";
import { ROUTER_NAMESPACE } from "../../api/installation.ts";
import { isDNSSubdomain } from "../../api/objects/names.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import { pathOf, timeAt } from "../../kube/api.ts";
import { callAPI } from "../../sdk/control/kube.ts";
import { SandboxError } from "../../sdk/errors.ts";
import { createForward } from "../../sdk/transport/forward.ts";
import type { PodPlace } from "../../sdk/transport/direct.ts";
import type { Cluster, CommandContext, ConnectionOptions } from "../commandcontext.ts";
import { fetchSettings, startSignInProxy } from "../dashboard/proxy.ts";
import { ROUTER_SELECTOR } from "../doctor/processes.ts";
import { Failure, UsageError } from "../failure.ts";
import { optionsOf, wholeNumber, withRouter } from "../options.ts";
import { spinning } from "../terminal.ts";
import { portInUse, untilInterrupted } from "./url.ts";

const MORE = `
Listens on 127.0.0.1 until Ctrl-C, and passes the requests of your browser on to the router with your token. The browser
does not get the token. The printed URL works once, for one browser: web pages and other users cannot use it later, but
programs of your own user can read what your browser has.

The token is that of --token, of the ServiceAccount, of $HOOKBOX_TOKEN, or of the user in the kubeconfig, in this order.
Prefer $HOOKBOX_TOKEN to --token, which other users of this machine see in the list of processes.
Tokens of a ServiceAccount or of a login plugin are renewed. A user with a client certificate needs --service-account.

Without --router, forwards a port of a router's Pod, which needs the right to create pods/portforward there.

Examples:
  hookbox dashboard
  hookbox dashboard -n team-a --service-account viewer`;

interface DashboardOptions extends ConnectionOptions {
  port?: string;
  serviceAccount?: string;
}

export function defineDashboard(command: Command, context: CommandContext): void {
  command
    .option("--port <port>", "port on this machine (default: a free one)")
    .option("--service-account <name>", "sign in as this ServiceAccount of the namespace")
    .addHelpText("after", MORE)
    .action(async () => await runDashboard(context, optionsOf<DashboardOptions>(command)));
  withRouter(command);
}

async function runDashboard(context: CommandContext, options: DashboardOptions): Promise<void> {
  const { stdout, stderr, fetch, signal } = context;
  const port = options.port === undefined ? 0 : wholeNumber("--port", options.port, 1, 65535);
  let cluster: Promise<Cluster> | undefined;
  const connect = () => cluster ??= context.connectCluster(options);
  const token = await tokenSource(context, options, connect);
  const url = options.router ?? context.env["HOOKBOX_ROUTER_URL"];
  const router = url === undefined ? forwardToRouter(await connect(), signal) : namedRouter(url);
  try {
    const user = await spinning(context, "Connecting to the router", () => signIn(context, router, token));
    let told = "";
    const proxy = await startSignInProxy({
      port,
      router: router.url,
      token,
      fetch,
      onFailure: (reason) => {
        // The page tries again and again.
        if (reason !== told) stderr.write(`${told = reason}\n`);
      },
    }).catch(portInUse(port, "--port"));
    const { namespace } = options;
    const hash = namespace === undefined ? "" : `#/sandboxes?namespace=${encodeURIComponent(namespace)}`;
    stdout.write(`${proxy.url}${hash}\n`);
    const isOpened = await context.browse(proxy.url + hash);
    stderr.write(`${isOpened ? "Opened the dashboard" : "Open this URL"}. You are ${user}. Ctrl-C ends it.\n`);
    await untilInterrupted(context);
    await proxy.close();
  } finally {
    await router.close();
  }
}

/** A way to a router. */
interface RouterWay {
  /** The router, for messages. */
  name(): string;
  /** Returns its URL, without a slash at the end. */
  url(): Promise<string>;
  /** What to do if it cannot be reached. */
  remedy: string;
  close(): Promise<void>;
}

function namedRouter(url: string): RouterWay {
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? "")) {
    throw new UsageError(`Cannot use router "${url}": it is not a URL of http or https`);
  }
  return {
    name: () => url,
    url: () => Promise.resolve(url.replace(/\/+$/, "")),
    remedy: "Check --router and HOOKBOX_ROUTER_URL.",
    close: () => Promise.resolve(),
  };
}

/** How long a Pod is used before the list is read again, in milliseconds. */
const TRUSTED_MS = 2000;

interface RouterPod extends KubeObject {
  spec?: { containers?: { ports?: { name?: string; containerPort: number }[] }[] };
  status?: { conditions?: { type: string; status: string }[] };
}

/** Forwards a port to a Pod of a router; to another one when that Pod is no longer Ready. */
function forwardToRouter({ api, credentials }: Cluster, signal: AbortSignal): RouterWay {
  let found: { pod: RouterPod; at: number } | undefined;
  let finding: Promise<PodPlace> | undefined;
  const find = async (): Promise<PodPlace> => {
    if (!found || performance.now() - found.at > TRUSTED_MS) {
      const ready = await readyRouters(api, signal);
      // A page that has a connection to a Pod stays there.
      const pod = ready.find(({ metadata }) => metadata.uid === found?.pod.metadata.uid) ?? ready[0];
      if (!pod) throw new Failure("Cannot find a router: none of its Pods is Ready", NO_ROUTER);
      found = { pod, at: performance.now() };
    }
    const { namespace = "", name } = found.pod.metadata;
    return { namespace, name, ip: "" };
  };
  const forward = createForward(credentials, find);
  return {
    name: () => `Pod ${found?.pod.metadata.namespace}/${found?.pod.metadata.name}`,
    async url() {
      const place = await (finding ??= find().finally(() => finding = undefined));
      return (await forward.reach(place, portOf(found?.pod))).origin;
    },
    remedy: "A port-forward needs the right to create pods/portforward in the router's namespace. " +
      "Without it, name the router's URL with --router.",
    close: () => forward.close(),
  };
}

const NO_ROUTER = "Install the router (docs/router.md), or name the URL of one with --router or HOOKBOX_ROUTER_URL.";

async function readyRouters(api: Cluster["api"], signal: AbortSignal): Promise<RouterPod[]> {
  const query = { labelSelector: ROUTER_SELECTOR };
  const list = async (namespace?: string) => {
    const object = { kind: "Pod", name: "", ...namespace === undefined ? {} : { namespace } };
    const action = "find the router's Pods";
    const path = pathOf({ resource: "pods", namespace });
    return await callAPI<{ items: RouterPod[] }>(api, { method: "GET", path, query, action, object, signal });
  };
  const { items } = await list().catch((error) => {
    if (error instanceof SandboxError && error.code === "PERMISSION_DENIED") return list(ROUTER_NAMESPACE);
    throw error;
  });
  return items.filter(({ metadata, status }) =>
    metadata.deletionTimestamp === undefined &&
    status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True")
  );
}

function portOf(pod: RouterPod | undefined): number {
  const ports = pod?.spec?.containers?.flatMap(({ ports = [] }) => ports) ?? [];
  return ports.find(({ name }) => name === "http")?.containerPort ?? 8080;
}

type TokenSource = () => Promise<string>;

const BEARER = /^Bearer +(\S+)$/i;

async function tokenSource(
  { env }: CommandContext,
  { token, serviceAccount }: DashboardOptions,
  connect: () => Promise<Cluster>,
): Promise<TokenSource> {
  if (serviceAccount !== undefined) {
    if (token !== undefined) throw new UsageError("Cannot use --token with --service-account: name one user");
    if (!isDNSSubdomain(serviceAccount)) {
      throw new UsageError(
        `Cannot use --service-account "${serviceAccount}": it takes the name of a ServiceAccount, without its namespace, ` +
          "which -n names",
      );
    }
    return accountTokens(await connect(), serviceAccount);
  }
  // As in the SDK, a variable that is empty is not set.
  const given = token ?? (env["HOOKBOX_TOKEN"] || undefined);
  if (given !== undefined) {
    checkToken(given, token === undefined ? "HOOKBOX_TOKEN" : "--token");
    return () => Promise.resolve(given);
  }
  const { credentials, namespace } = await connect();
  return async () => {
    const { headers, tls } = await credentials.current();
    const [, value = ""] = Object.entries(headers).find(([name]) => name.toLowerCase() === "authorization") ?? [];
    const [, bearer] = BEARER.exec(value) ?? [];
    if (bearer !== undefined) return bearer;
    const has = tls.cert ? "a client certificate" : "no token";
    throw new Failure(
      `Cannot sign in: your user in the kubeconfig has ${has}, and the router can check only tokens`,
      adviceFor(namespace),
    );
  };
}

/** @throws {UsageError} without the token, if a header cannot have it */
function checkToken(token: string, source: string): void {
  if (token === "") {
    throw new UsageError(`Cannot use ${source}: it is empty. Without it, you are the kubeconfig's user`);
  }
  if (/^[\x21-\x7e]+$/.test(token)) return;
  throw new UsageError(`Cannot use ${source}: a token has no spaces, no line breaks, and only ASCII characters`);
}

/** As in docs/dashboard.md. */
function adviceFor(namespace: string): string {
  return `Sign in as a ServiceAccount:
  kubectl create serviceaccount NAME -n ${namespace}
  kubectl create rolebinding NAME -n ${namespace} --clusterrole=hookbox-edit --serviceaccount=${namespace}:NAME
  hookbox dashboard -n ${namespace} --service-account NAME
Or give a token with --token: kubectl create token NAME -n ${namespace} --duration=8h`;
}

/** How long a token of a ServiceAccount is valid, in seconds; it is renewed after three quarters of this time. */
const TOKEN_SECONDS = 3600;

interface TokenRequest {
  status: { token: string; expirationTimestamp: string };
}

function accountTokens({ api, namespace }: Cluster, name: string): TokenSource {
  let renewal: { at: number; token: Promise<string> } | undefined;
  const create = async () => {
    const { status } = await callAPI<TokenRequest>(api, {
      method: "POST",
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${encodeURIComponent(name)}/token`,
      body: {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { expirationSeconds: TOKEN_SECONDS },
      },
      action: `create a token of ServiceAccount ${namespace}/${name}`,
      object: { kind: "ServiceAccount", namespace, name },
    });
    const lifetime = Date.parse(status.expirationTimestamp) - timeAt(api);
    renewal = { at: timeAt(api) + 0.75 * lifetime, token: Promise.resolve(status.token) };
    return status.token;
  };
  return () => {
    if (renewal && timeAt(api) < renewal.at) return renewal.token;
    const token = create();
    renewal = { at: Infinity, token };
    token.catch(() => renewal = undefined);
    return token;
  };
}

const REVIEWS = "/.hookbox/api/apis/authentication.k8s.io/v1/selfsubjectreviews";

/** Checks that the router has a dashboard, and that the API server accepts the token. @returns name of the user */
async function signIn({ fetch, signal }: CommandContext, router: RouterWay, token: TokenSource): Promise<string> {
  const [url, bearer] = await Promise.all([router.url(), token()]);
  const unreachable = (error: Error) => {
    signal.throwIfAborted();
    const why = error.cause instanceof Error ? error.cause.message : error.message;
    throw new Failure(`Cannot reach the router (${router.name()}): ${why}`, router.remedy);
  };
  const { status, settings } = await fetchSettings(fetch, url, bearer, signal).catch(unreachable);
  if (settings.isSignedIn !== true) {
    throw new Failure(
      `Cannot open the dashboard: the router (${router.name()}) has none, or another program answers (HTTP ${status})`,
      "Start the router without --no-dashboard and --path-routing-prefix, or correct --router.",
    );
  }
  const body = JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" });
  const headers = { "Authorization": `Bearer ${bearer}`, "Content-Type": "application/json" };
  const answer = await fetch(url + REVIEWS, { method: "POST", headers, body, signal }).catch(unreachable);
  const review = await answer.json().catch(() => ({}));
  if (answer.status === 401) {
    throw new Failure("Cannot sign in: the API server does not accept the token", "Log in again, or give another one.");
  }
  // Kubernetes before 1.28 has no such review.
  return review.status?.userInfo?.username ?? "signed in";
}
