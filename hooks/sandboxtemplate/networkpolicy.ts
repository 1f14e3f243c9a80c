/** Builds the NetworkPolicy of a template, which applies to all its sandboxes, in pools and in claims. @module */
import { EGRESS_PROXY_LABELS, EGRESS_PROXY_PORT, reachesProxyOnly } from "../../packages/api/egress/podsettings.ts";
import type { SandboxTemplate } from "../../packages/api/sandboxtemplate.ts";
import { namespaceReference, policyName, policyStamp } from "../../packages/api/templatepolicy.ts";
import { lastApplied } from "../../packages/api/objects/apply.ts";
import { withForeignFields } from "../../packages/webhook/unchanged.ts";
import { TEMPLATE_GENERATION_ANNOTATION, TEMPLATE_REF_HASH_LABEL } from "../../packages/api/objects/keys.ts";
import { nameHash } from "../../packages/api/objects/names.ts";
import {
  controllerReference,
  type DesiredMeta,
  type DesiredObject,
  type KubeObject,
} from "../../packages/api/objects/objects.ts";
import { ownerReferenceSchema } from "../../packages/api/objects/schemas.ts";
import type { TemplateConfig } from "../flags.ts";

type NetworkPolicy = DesiredObject<"NetworkPolicy", Record<string, unknown>>;

/**
 * The default rules, for a template without rules of its own. The router may connect to the sandbox. The sandbox can
 * reach the public internet, but no private addresses: no other Pods, not the cluster's DNS, and not a cloud's metadata
 * service. Source: Agent Sandbox API, section 3.1.
 */
const DEFAULT_INGRESS = [{
  from: [{
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "agent-sandbox-system" } },
    podSelector: { matchLabels: { app: "sandbox-router" } },
  }],
}];
const PRIVATE_V4 = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"];
const PRIVATE_V6 = ["fc00::/7", "fe80::/10"];

/**
 * Returns the default egress rules: only the egress proxy if the template has rules for it. Otherwise, they also block
 * the networks that the operator lists.
 */
function defaultEgress(template: SandboxTemplate, { deniedEgressCidrs }: TemplateConfig): object[] {
  if (reachesProxyOnly(template)) {
    return [{ to: [{ podSelector: { matchLabels: EGRESS_PROXY_LABELS } }], ports: [{ port: EGRESS_PROXY_PORT }] }];
  }
  const isV6 = (cidr: string) => cidr.includes(":");
  const except = (closed: string[], more: string[]) => [...new Set([...closed, ...more])];
  return [{
    to: [
      { ipBlock: { cidr: "0.0.0.0/0", except: except(PRIVATE_V4, deniedEgressCidrs.filter((cidr) => !isV6(cidr))) } },
      { ipBlock: { cidr: "::/0", except: except(PRIVATE_V6, deniedEgressCidrs.filter(isV6)) } },
    ],
  }];
}

/** The observed objects that the policy of a template depends on. */
export interface Surroundings {
  /** The observed policy, if there is one: the answer removes fields that others have added. */
  observed?: KubeObject | undefined;
  /** The template's namespace; undefined: Metacontroller has not sent it, so the owners stay as they are. */
  namespace?: KubeObject | undefined;
}

/** Builds the policy from the template's own rules or from the default rules. An empty or absent list denies all traffic. */
export function buildNetworkPolicy(
  template: SandboxTemplate,
  config: TemplateConfig,
  { observed, namespace }: Surroundings = {},
): NetworkPolicy {
  const { networkPolicy } = template.spec;
  const spec = {
    podSelector: { matchLabels: { [TEMPLATE_REF_HASH_LABEL]: nameHash(template.metadata.name) } },
    policyTypes: ["Ingress", "Egress"],
    ...rules("ingress", networkPolicy ? networkPolicy.ingress : DEFAULT_INGRESS),
    ...rules("egress", networkPolicy ? networkPolicy.egress : defaultEgress(template, config)),
  };
  const wanted: NetworkPolicy = {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: {
      name: policyName(template.metadata.name),
      annotations: { [TEMPLATE_GENERATION_ANNOTATION]: policyStamp(template) },
      ...owners(template, { observed, namespace }),
    },
    spec,
  };
  if (!observed) return wanted;
  return { ...wanted, spec: withForeignFields(spec, observed["spec"], lastApplied(observed)?.["spec"]) };
}

/**
 * The owners: the template and its namespace. The garbage collector deletes an object only when all its owners are gone, so
 * the policy outlives the template. The keeper deletes the policy when no sandbox needs it.
 *
 * Metacontroller identifies items of this list by `name`. If template and namespace had the same name, Metacontroller would
 * lose the template. In that case the keeper adds the namespace.
 */
function owners(
  template: SandboxTemplate,
  { observed, namespace }: Surroundings,
): Pick<DesiredMeta, "ownerReferences"> {
  if (namespace && namespace.metadata.name !== template.metadata.name) {
    return { ownerReferences: [controllerReference(template), namespaceReference(namespace.metadata)] };
  }
  const applied = observed && (lastApplied(observed)?.["metadata"] as KubeObject["metadata"] | undefined);
  const before = ownerReferenceSchema.array().safeParse(applied?.ownerReferences).data;
  return before ? { ownerReferences: before } : {};
}

/** Returns the rules as the API server would store them: without empty lists, and with the protocol of every port. */
function rules(direction: "ingress" | "egress", list: readonly object[] | undefined): Record<string, object[]> {
  return list && list.length > 0 ? { [direction]: list.map(withProtocols) } : {};
}

function withProtocols(rule: { ports?: { protocol?: string }[] }): object {
  if (!rule.ports) return rule;
  return { ...rule, ports: rule.ports.map((port) => ({ ...port, protocol: port.protocol ?? "TCP" })) };
}
