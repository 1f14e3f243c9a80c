/** Finds out whether the sandboxes of a template use the egress proxy, and whether anything gets past it. Pure. @module */
import { EGRESS_HEADERS_ANNOTATION } from "../../api/objects/keys.ts";
import type { KubeObject } from "../../api/objects/objects.ts";
import type { CheckResult } from "./check.ts";

interface Rule {
  to?: { podSelector?: { matchLabels?: Record<string, string> }; namespaceSelector?: object; ipBlock?: object }[];
}

interface Container {
  env?: { name: string; value?: string }[];
  volumeMounts?: { mountPath: string }[];
}

/** A template whose annotations have rules for the proxy. */
export interface TemplateWithRules extends KubeObject {
  spec: {
    networkPolicy?: { egress?: Rule[] };
    networkPolicyManagement?: string;
    podTemplate?: { spec?: { containers?: Container[] } };
  };
}

/** Programs read one or the other. */
const PROXY_VARIABLES = ["HTTPS_PROXY", "https_proxy"];
/** What a value has that leads to the Service of deploy/egress. */
const PROXY_ADDRESS = /HOOKBOX_EGRESS_SERVICE_HOST|\bhookbox-egress\b/;
/** Variables that name a file with certificate authorities: of OpenSSL and Python, of packages for Python, of Node and git. */
const CA_VARIABLES = ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "CURL_CA_BUNDLE"];
const PROXY_POD = ["app.kubernetes.io/name", "egress-proxy"] as const;
const EXAMPLE = "docs/howto/egress-proxy.md has a template as an example.";

/** Returns the worst problem; undefined: there is none. */
export function problemOfTemplate(
  template: TemplateWithRules,
): Pick<CheckResult, "mark" | "text" | "remedy"> | undefined {
  const { networkPolicy, networkPolicyManagement, podTemplate } = template.spec;
  if (networkPolicyManagement === "Unmanaged") {
    const remedy = "Make sure that a NetworkPolicy of yours lets its sandboxes reach the proxy alone.";
    return { mark: "warn", text: "networkPolicyManagement is Unmanaged, so hookbox closes nothing", remedy };
  }
  const toProxy = {
    mark: "fail",
    remedy: `Allow egress to Pods with the label ${PROXY_POD.join("=")}, and to nothing else. ${EXAMPLE}`,
  } as const;
  if (!networkPolicy) {
    return { ...toProxy, text: "without spec.networkPolicy, sandboxes reach the internet without the proxy" };
  }
  const rules = networkPolicy.egress ?? [];
  if (rules.some((rule) => !isToProxy(rule))) {
    return { ...toProxy, text: "spec.networkPolicy.egress lets sandboxes reach more than the proxy" };
  }
  if (rules.length === 0) {
    return { ...toProxy, text: "spec.networkPolicy.egress does not let sandboxes reach the proxy" };
  }
  const containers = podTemplate?.spec?.containers ?? [];
  const variables = containers.flatMap(({ env = [] }) => env);
  if (!variables.some(({ name, value = "" }) => PROXY_VARIABLES.includes(name) && PROXY_ADDRESS.test(value))) {
    const remedy = `Set HTTPS_PROXY, https_proxy, HTTP_PROXY and http_proxy, unless the image does. ${EXAMPLE}`;
    return { mark: "warn", text: "no container has HTTPS_PROXY with the address of Service hookbox-egress", remedy };
  }
  const hasHeaders = template.metadata.annotations?.[EGRESS_HEADERS_ANNOTATION] !== undefined;
  if (hasHeaders && !containers.some(trustsMountedFile)) {
    const remedy =
      `Mount the ConfigMap hookbox-egress-ca, and set ${CA_VARIABLES.slice(0, 3).join(", ")}, unless the image ` +
      `has the certificate. ${EXAMPLE}`;
    return { mark: "warn", text: "no container trusts the certificate authority of the proxy", remedy };
  }
  return undefined;
}

function isToProxy({ to = [] }: Rule): boolean {
  return to.length > 0 &&
    to.every(({ podSelector, namespaceSelector, ipBlock }) =>
      podSelector?.matchLabels?.[PROXY_POD[0]] === PROXY_POD[1] && !namespaceSelector && !ipBlock
    );
}

/** A variable names a file below a mounted volume. */
function trustsMountedFile({ env = [], volumeMounts = [] }: Container): boolean {
  return env.some(({ name, value = "" }) =>
    CA_VARIABLES.includes(name) && volumeMounts.some(({ mountPath }) => `${value}/`.startsWith(`${mountPath}/`))
  );
}
