/** The NetworkPolicy of a template: one for all its sandboxes, pool members and claimed ones alike. @module */
import type { SandboxTemplate } from "../../packages/api/sandboxtemplate.ts";
import { lastApplied } from "../../packages/api/objects/apply.ts";
import { withForeignFields } from "../../packages/webhook/foreign.ts";
import { TEMPLATE_REF_HASH_LABEL } from "../../packages/api/objects/keys.ts";
import { nameHash } from "../../packages/api/objects/names.ts";
import type { DesiredObject, KubeObject } from "../../packages/api/objects/objects.ts";

type NetworkPolicy = DesiredObject<"NetworkPolicy", Record<string, unknown>>;

/**
 * What a template without rules of its own gets: the router may come in, the public internet is open, and private
 * addresses are not: neither other Pods, nor the cluster's DNS, nor a cloud's metadata service.
 * Source: Agent Sandbox API, section 3.1.
 */
const DEFAULT_INGRESS = [{
  from: [{
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "agent-sandbox-system" } },
    podSelector: { matchLabels: { app: "sandbox-router" } },
  }],
}];
const PRIVATE_V4 = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"];
const PRIVATE_V6 = ["fc00::/7", "fe80::/10"];
const DEFAULT_EGRESS = [{
  to: [
    { ipBlock: { cidr: "0.0.0.0/0", except: PRIVATE_V4 } },
    { ipBlock: { cidr: "::/0", except: PRIVATE_V6 } },
  ],
}];

/** Returns the name of a template's policy. */
export function policyName(template: SandboxTemplate): string {
  return `${template.metadata.name}-network-policy`;
}

/**
 * Builds the policy: the template's own rules word for word, or the default ones; an empty or absent list denies.
 *
 * @param observed the policy as it is, if there is one: whatever somebody added to it is undone
 */
export function buildNetworkPolicy(template: SandboxTemplate, observed?: KubeObject): NetworkPolicy {
  const { networkPolicy } = template.spec;
  const spec = {
    podSelector: { matchLabels: { [TEMPLATE_REF_HASH_LABEL]: nameHash(template.metadata.name) } },
    policyTypes: ["Ingress", "Egress"],
    ...rules("ingress", networkPolicy ? networkPolicy.ingress : DEFAULT_INGRESS),
    ...rules("egress", networkPolicy ? networkPolicy.egress : DEFAULT_EGRESS),
  };
  const wanted: NetworkPolicy = {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: policyName(template) },
    spec,
  };
  if (!observed) return wanted;
  return { ...wanted, spec: withForeignFields(spec, observed["spec"], lastApplied(observed)?.["spec"]) };
}

/** Says what the API server would store: no empty list, and the protocol of every port. */
function rules(direction: "ingress" | "egress", list: readonly object[] | undefined): Record<string, object[]> {
  return list && list.length > 0 ? { [direction]: list.map(withProtocols) } : {};
}

function withProtocols(rule: { ports?: { protocol?: string }[] }): object {
  if (!rule.ports) return rule;
  return { ...rule, ports: rule.ports.map((port) => ({ ...port, protocol: port.protocol ?? "TCP" })) };
}
