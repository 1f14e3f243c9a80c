/**
 * Declares for the guard what a member of a template with rules for the egress proxy has besides the template's Pod
 * spec. The rules are computed without the code that builds the member. @module
 */
import type { V1Container, V1PodSpec } from "@kubernetes/client-node";

const HEADERS = "agents.x-k8s.io/egress-headers";
const CLAIM_HEADERS = "agents.x-k8s.io/egress-claim-headers";
const ANNOTATIONS = ["agents.x-k8s.io/egress-allow", HEADERS];

const ADDRESS = "http://$(HOOKBOX_EGRESS_SERVICE_HOST):3128";
const ADDRESSES = { HTTP_PROXY: ADDRESS, HTTPS_PROXY: ADDRESS, http_proxy: ADDRESS, https_proxy: ADDRESS };
const LOCAL = "localhost,127.0.0.1,::1";
/** Groups of variables: a container that sets one of a group gets none of this group. */
const EXCEPTIONS: readonly Record<string, string>[] = [
  { NO_PROXY: LOCAL, no_proxy: LOCAL },
  { NODE_USE_ENV_PROXY: "1" },
];
const CERTIFICATES = Object.fromEntries(
  "SSL_CERT_FILE REQUESTS_CA_BUNDLE PIP_CERT CURL_CA_BUNDLE GIT_SSL_CAINFO NODE_EXTRA_CA_CERTS DENO_CERT".split(" ")
    .map((name) => [name, "/etc/hookbox-egress/ca.crt"]),
);
const VOLUME = { name: "hookbox-egress-ca", configMap: { name: "hookbox-egress-ca" } };
const MOUNT = { name: "hookbox-egress-ca", mountPath: "/etc/hookbox-egress", readOnly: true };

/** Tells whether annotations have rules for the proxy, whatever the rules are. */
export function isProxied(annotations: Record<string, string>): boolean {
  return ANNOTATIONS.some((key) => key in annotations);
}

/** Returns the template's Pod spec with what members get for the proxy. */
export function proxiedSpec(spec: V1PodSpec, annotations: Record<string, string>): V1PodSpec {
  if (!isProxied(annotations)) return spec;
  const proxied = { ...spec };
  let isMounted = false;
  for (const field of ["containers", "initContainers"] as const) {
    const before = spec[field];
    if (before === undefined) continue;
    proxied[field] = before.map((container) => {
      const isRead = HEADERS in annotations || CLAIM_HEADERS in annotations;
      const needsCertificates = isRead && lacks(container, CERTIFICATES);
      isMounted ||= needsCertificates;
      return needsCertificates ? certified(proxiedContainer(container)) : proxiedContainer(container);
    });
  }
  const { volumes = [] } = spec;
  if (isMounted && volumes.every(({ name }) => name !== VOLUME.name)) proxied.volumes = [...volumes, VOLUME];
  return proxied;
}

function proxiedContainer(container: V1Container): V1Container {
  if (!lacks(container, ADDRESSES)) return container;
  const groups = [ADDRESSES, ...EXCEPTIONS.filter((group) => lacks(container, group))];
  return { ...container, env: [...container.env ?? [], ...listed(Object.assign({}, ...groups))] };
}

function certified(container: V1Container): V1Container {
  const { env = [], volumeMounts = [] } = container;
  const isFree = volumeMounts.every(({ mountPath }) => !/^\/etc\/hookbox-egress\/*$/.test(mountPath));
  return {
    ...container,
    env: [...env, ...listed(CERTIFICATES)],
    volumeMounts: isFree ? [...volumeMounts, MOUNT] : volumeMounts,
  };
}

function lacks({ env = [] }: V1Container, group: Record<string, string>): boolean {
  return !env.some(({ name }) => Object.hasOwn(group, name));
}

function listed(group: Record<string, string>): { name: string; value: string }[] {
  return Object.entries(group).map(([name, value]) => ({ name, value }));
}
