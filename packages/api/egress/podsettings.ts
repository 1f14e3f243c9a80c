/** Adds to a Pod what its programs need to use the egress proxy of their namespace. Pure. @module */
import type { V1Container, V1EnvVar, V1PodSpec } from "@kubernetes/client-node";
import {
  EGRESS_ALLOW_ANNOTATION,
  EGRESS_CLAIM_HEADERS_ANNOTATION,
  EGRESS_HEADERS_ANNOTATION,
} from "../objects/keys.ts";

/** Name of the proxy's Deployment, Service, NetworkPolicy and ServiceAccount in deploy/egress. */
export const EGRESS_PROXY = "hookbox-egress";
/** Labels of the proxy's Pods. */
export const EGRESS_PROXY_LABELS = { "app.kubernetes.io/name": "egress-proxy", "app.kubernetes.io/part-of": "hookbox" };
export const EGRESS_PROXY_PORT = 3128;
/** The ConfigMap with the certificate authorities that sandboxes trust (key `ca.crt`), and the volume that has it. */
export const EGRESS_CA = "hookbox-egress-ca";

/** The variable that the kubelet sets to the address of the Service. An address needs no DNS, which sandboxes do not have. */
export const EGRESS_PROXY_ADDRESS = "HOOKBOX_EGRESS_SERVICE_HOST";
const REFERENCE = `$(${EGRESS_PROXY_ADDRESS})`;

const CA_FOLDER = "/etc/hookbox-egress";

const PROXY = `http://${REFERENCE}:${EGRESS_PROXY_PORT}`;
/** Programs read the names in upper case, in lower case, or both. */
const PROXY_NAMES = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];
const NO_PROXY_NAMES = ["NO_PROXY", "no_proxy"];
const NO_PROXY = "localhost,127.0.0.1,::1";
/** Without it, Node does not read the variables of the proxy. */
const NODE_SWITCH = "NODE_USE_ENV_PROXY";
/**
 * Variables that name a file with certificate authorities.
 *
 * | variable | of |
 * |---|---|
 * | `SSL_CERT_FILE` | OpenSSL, Go, Python's ssl, httpx, uv |
 * | `REQUESTS_CA_BUNDLE` | Python's requests, botocore |
 * | `PIP_CERT` | pip, which does not read `SSL_CERT_FILE` in older versions |
 * | `CURL_CA_BUNDLE` | curl with another library than OpenSSL |
 * | `GIT_SSL_CAINFO` | git |
 * | `NODE_EXTRA_CA_CERTS` | Node, npm |
 * | `DENO_CERT` | Deno |
 */
export const CA_NAMES: readonly string[] = [
  "SSL_CERT_FILE",
  "REQUESTS_CA_BUNDLE",
  "PIP_CERT",
  "CURL_CA_BUNDLE",
  "GIT_SSL_CAINFO",
  "NODE_EXTRA_CA_CERTS",
  "DENO_CERT",
];

/** Whose annotations count: a template, a claim or a Sandbox. */
interface Annotated {
  annotations?: Record<string, string> | undefined;
}

/** Tells whether an object has one of the annotations with rules for the proxy. */
export function hasEgressRules({ annotations = {} }: Annotated): boolean {
  return annotations[EGRESS_ALLOW_ANNOTATION] !== undefined || annotations[EGRESS_HEADERS_ANNOTATION] !== undefined;
}

/** Tells whether containers take the address of the Service from the kubelet: a variable refers to it, and none sets it. */
export function takesAddress({ containers }: Pick<V1PodSpec, "containers">): boolean {
  const variables = containers.flatMap(({ env = [] }) => env);
  return variables.some(({ value = "" }) => value.includes(REFERENCE)) &&
    !variables.some(({ name }) => name === EGRESS_PROXY_ADDRESS);
}

/** Tells whether hookbox lets the sandboxes of a template reach the proxy alone: it has rules, and no `networkPolicy`. */
export function reachesProxyOnly(
  { metadata, spec }: { metadata: Annotated; spec: { networkPolicy?: unknown; networkPolicyManagement: string } },
): boolean {
  return hasEgressRules(metadata) && spec.networkPolicy === undefined && spec.networkPolicyManagement !== "Unmanaged";
}

/**
 * Returns the Pod spec of a template with the variables of the proxy, and, if requests can get headers, with its
 * certificate authority. Only whether the annotations exist counts, not their text.
 *
 * A container that sets a variable of the proxy itself gets none of them, and one that sets a variable for certificates
 * gets none of these.
 */
export function withEgressProxy(podSpec: V1PodSpec, { annotations = {} }: Annotated): V1PodSpec {
  if (!hasEgressRules({ annotations })) return podSpec;
  const hasHeaders = [EGRESS_HEADERS_ANNOTATION, EGRESS_CLAIM_HEADERS_ANNOTATION].some((key) => key in annotations);
  const { containers, initContainers, volumes = [] } = podSpec;
  const needsCA = hasHeaders && [...containers, ...initContainers ?? []].some((one) => !sets(one, CA_NAMES));
  const extended = (container: V1Container) => withCA(withVariables(container, proxyVariables(container)), hasHeaders);
  const isThere = volumes.some(({ name }) => name === EGRESS_CA);
  return {
    ...podSpec,
    containers: containers.map(extended),
    ...(initContainers ? { initContainers: initContainers.map(extended) } : {}),
    ...(needsCA && !isThere ? { volumes: [...volumes, { name: EGRESS_CA, configMap: { name: EGRESS_CA } }] } : {}),
  };
}

function proxyVariables(container: V1Container): V1EnvVar[] {
  if (sets(container, PROXY_NAMES)) return [];
  const exceptions = sets(container, NO_PROXY_NAMES) ? [] : NO_PROXY_NAMES;
  return [
    ...PROXY_NAMES.map((name) => ({ name, value: PROXY })),
    ...exceptions.map((name) => ({ name, value: NO_PROXY })),
    ...(sets(container, [NODE_SWITCH]) ? [] : [{ name: NODE_SWITCH, value: "1" }]),
  ];
}

function withCA(container: V1Container, hasHeaders: boolean): V1Container {
  if (!hasHeaders || sets(container, CA_NAMES)) return container;
  const { volumeMounts = [] } = container;
  // A Pod with two mounts in one place is invalid.
  const isTaken = volumeMounts.some(({ mountPath }) => mountPath.replace(/\/+$/, "") === CA_FOLDER);
  const mounts = isTaken ? [] : [{ name: EGRESS_CA, mountPath: CA_FOLDER, readOnly: true }];
  return {
    ...withVariables(container, CA_NAMES.map((name) => ({ name, value: `${CA_FOLDER}/ca.crt` }))),
    volumeMounts: [...volumeMounts, ...mounts],
  };
}

/** At the end, so that a template can set the address itself. */
function withVariables(container: V1Container, variables: V1EnvVar[]): V1Container {
  return variables.length === 0 ? container : { ...container, env: [...container.env ?? [], ...variables] };
}

function sets({ env = [] }: V1Container, names: readonly string[]): boolean {
  return env.some(({ name }) => names.includes(name));
}
