/** Finds out whether the sandboxes of a template use the egress proxy, and whether anything gets past it. Pure. @module */
import type { V1Container } from "@kubernetes/client-node";
import {
  CA_NAMES,
  EGRESS_PROXY,
  EGRESS_PROXY_ADDRESS,
  EGRESS_PROXY_LABELS,
  takesAddress,
  withEgressProxy,
} from "../../api/egress/podsettings.ts";
import { EGRESS_CLAIM_HEADERS_ANNOTATION, EGRESS_HEADERS_ANNOTATION } from "../../api/objects/keys.ts";
import type { SandboxTemplate } from "../../api/sandboxtemplate.ts";
import type { CheckResult } from "./check.ts";

type EgressRule = NonNullable<NonNullable<SandboxTemplate["spec"]["networkPolicy"]>["egress"]>[number];

/** Programs read one or the other. */
const PROXY_VARIABLES = ["HTTPS_PROXY", "https_proxy"];
/** What a value has that leads to the Service of deploy/egress. */
const PROXY_ADDRESS = new RegExp(`${EGRESS_PROXY_ADDRESS}|\\b${EGRESS_PROXY}\\b`);
const [LABEL, NAME] = Object.entries(EGRESS_PROXY_LABELS)[0] as [string, string];
const EXAMPLE = "docs/howto/egress-proxy.md explains it.";

/** Returns the worst problem; undefined: there is none. @param template has rules for the proxy */
export function problemOfTemplate(
  { metadata, spec }: SandboxTemplate,
): Pick<CheckResult, "mark" | "text" | "remedy"> | undefined {
  const { networkPolicy, networkPolicyManagement } = spec;
  if (networkPolicyManagement === "Unmanaged") {
    const remedy = "Make sure that a NetworkPolicy of yours lets its sandboxes reach the proxy alone.";
    return { mark: "warn", text: "networkPolicyManagement is Unmanaged, so hookbox closes nothing", remedy };
  }
  const toProxy = {
    mark: "fail",
    remedy: `Remove spec.networkPolicy: hookbox then lets its sandboxes reach the proxy alone. ${EXAMPLE}`,
  } as const;
  const rules = networkPolicy?.egress ?? [];
  if (rules.some((rule) => !isToProxy(rule))) {
    return { ...toProxy, text: "spec.networkPolicy.egress lets sandboxes reach more than the proxy" };
  }
  if (networkPolicy && rules.length === 0) {
    return { ...toProxy, text: "spec.networkPolicy.egress does not let sandboxes reach the proxy" };
  }
  const podSpec = withEgressProxy(spec.podTemplate.spec, metadata);
  const variables = podSpec.containers.flatMap(({ env = [] }) => env);
  if (!variables.some(({ name, value = "" }) => PROXY_VARIABLES.includes(name) && PROXY_ADDRESS.test(value))) {
    const remedy =
      `Remove the variables of another proxy: hookbox then sets those of Service hookbox-egress. ${EXAMPLE}`;
    return { mark: "warn", text: "no container has HTTPS_PROXY with the address of Service hookbox-egress", remedy };
  }
  if (podSpec.enableServiceLinks === false && takesAddress(podSpec)) {
    const remedy =
      `Remove enableServiceLinks, or set ${EGRESS_PROXY_ADDRESS} to the address of Service ${EGRESS_PROXY}. ${EXAMPLE}`;
    return { mark: "fail", text: "enableServiceLinks is false, so containers do not get the proxy's address", remedy };
  }
  const hasHeaders = [EGRESS_HEADERS_ANNOTATION, EGRESS_CLAIM_HEADERS_ANNOTATION].some((key) =>
    metadata.annotations?.[key] !== undefined
  );
  if (hasHeaders && !podSpec.containers.some(trustsMountedFile)) {
    const remedy = `Remove ${CA_NAMES.join(", ")}: hookbox then sets them. ${EXAMPLE}`;
    return { mark: "warn", text: "no container trusts the certificate authority of the proxy", remedy };
  }
  return undefined;
}

function isToProxy({ to = [] }: EgressRule): boolean {
  return to.length > 0 &&
    to.every(({ podSelector, namespaceSelector, ipBlock }) =>
      podSelector?.matchLabels?.[LABEL] === NAME && !namespaceSelector && !ipBlock
    );
}

/** A variable names a file below a mounted volume. */
function trustsMountedFile({ env = [], volumeMounts = [] }: V1Container): boolean {
  return env.some(({ name, value = "" }) =>
    CA_NAMES.includes(name) && volumeMounts.some(({ mountPath }) => `${value}/`.startsWith(`${mountPath}/`))
  );
}
