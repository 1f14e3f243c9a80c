/**
 * Declares for the guard how the template's hook may create and change the NetworkPolicy and the template's labels. The rules
 * are computed from the template, without the code that builds the policy. Source: Agent Sandbox API, section 3.1. @module
 */
import { ROUTER_NAMESPACE } from "../../packages/api/installation.ts";
import type { SandboxTemplate } from "../../packages/api/sandboxtemplate.ts";
import { sameJson } from "../../packages/api/objects/apply.ts";
import { isObject, type Json } from "../../packages/api/objects/json.ts";
import { policyName } from "../../packages/api/templatepolicy.ts";
import { TEMPLATE_GENERATION_ANNOTATION, TEMPLATE_REF_HASH_LABEL } from "../../packages/api/objects/keys.ts";
import { nameHash } from "../../packages/api/objects/names.ts";
import type { Change, ChildRules } from "../../packages/webhook/childrules.ts";
import type { ParentRules, StatusRules } from "../../packages/webhook/statusrules.ts";
import { differences } from "../../packages/webhook/fieldchanges.ts";
import type { Observed } from "../../packages/webhook/metacontroller.ts";
import type { TemplateConfig } from "../flags.ts";

type Of = Change<SandboxTemplate>;

/** Creates the rules for one installation. */
export function childRules({ deniedEgressCidrs }: TemplateConfig): ChildRules<SandboxTemplate> {
  return {
    "NetworkPolicy.networking.k8s.io/v1": {
      resource: "networkpolicies",
      updateStrategy: "InPlace",
      isAttachment: true,
      mayChange: {
        "metadata.annotations": ({ path, will, observed: { parent } }) =>
          path[2] === TEMPLATE_GENERATION_ANNOTATION && will === versionOf(parent),
        "metadata.ownerReferences": ({ wants, was, observed }) =>
          wants !== undefined && (sameJson(wants, was) || sameJson(wants, ownersOf(observed))),
        spec: (change) => comesNearer(change, specOf(change.observed.parent, deniedEgressCidrs)),
      },
      wrongWith(policy, observed) {
        const { parent } = observed;
        if (parent.spec.networkPolicyManagement === "Unmanaged") return ["a policy that is not asked for"];
        const ownerReferences = ownersOf(observed);
        return differences(policy, {
          apiVersion: "networking.k8s.io/v1",
          kind: "NetworkPolicy",
          metadata: {
            name: policyName(parent.metadata.name),
            annotations: { [TEMPLATE_GENERATION_ANNOTATION]: versionOf(parent) },
            ...(ownerReferences ? { ownerReferences } : {}),
          },
          spec: specOf(parent, deniedEgressCidrs),
        });
      },
    },
  };
}

export const parentRules: ParentRules<SandboxTemplate> = {
  labels: { [TEMPLATE_REF_HASH_LABEL]: (value, { parent }) => value === nameHash(parent.metadata.name) },
};

/** Templates have no status. */
export const statusRules: StatusRules<SandboxTemplate> = { conditionTypes: [], fields: {} };

function versionOf({ metadata: { uid = "", generation = 0, annotations = {} }, spec }: SandboxTemplate): string {
  return `${uid}/${generation}${spec.networkPolicy || !isForProxy(annotations) ? "" : "/egress"}`;
}

/**
 * The owners: the template, and its namespace if Metacontroller has sent it and its name differs from the template's.
 */
function ownersOf({ parent, related }: Observed<SandboxTemplate>): object[] | undefined {
  const { name, namespace = "", uid = "" } = parent.metadata;
  const home = related["Namespace.v1"]?.[namespace]?.metadata;
  if (!home || home.name === name) return undefined;
  const template = { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxTemplate", name, uid };
  return [
    { ...template, controller: true, blockOwnerDeletion: true },
    { apiVersion: "v1", kind: "Namespace", name: home.name, uid: home.uid ?? "" },
  ];
}

/** Networks that the default rules block. */
const CLOSED_V4 = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"];
const CLOSED_V6 = ["fc00::/7", "fe80::/10"];

/**
 * The rules of a template without rules of its own. The router may connect to the sandbox. The sandbox may connect to
 * all networks except the closed and the denied ones.
 */
function defaultRules(deniedEgressCidrs: readonly string[]): { ingress: object[]; egress: object[] } {
  const [v6, v4] = [true, false].map((isV6) => deniedEgressCidrs.filter((cidr) => cidr.includes(":") === isV6));
  const open = (cidr: string, closed: string[]) => ({ ipBlock: { cidr, except: [...new Set(closed)] } });
  const to = [open("0.0.0.0/0", [...CLOSED_V4, ...v4!]), open("::/0", [...CLOSED_V6, ...v6!])];
  return { ingress: ROUTER, egress: [{ to }] };
}
const ROUTER = [{
  from: [{
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": ROUTER_NAMESPACE } },
    podSelector: { matchLabels: { app: "sandbox-router" } },
  }],
}];

/** The rules of a template with rules for the egress proxy, and without `networkPolicy`. */
const PROXY_RULES = {
  ingress: ROUTER,
  egress: [{
    to: [{
      podSelector: {
        matchLabels: { "app.kubernetes.io/name": "egress-proxy", "app.kubernetes.io/part-of": "hookbox" },
      },
    }],
    ports: [{ port: 3128 }],
  }],
};

function isForProxy(annotations: Record<string, string>): boolean {
  return ["agents.x-k8s.io/egress-allow", "agents.x-k8s.io/egress-headers"].some((key) => key in annotations);
}

/** The policy's spec as the API server stores it: without empty lists, and with the protocol of each port. */
function specOf({ metadata, spec: { networkPolicy } }: SandboxTemplate, deniedEgressCidrs: readonly string[]): Json {
  const ofHookbox = isForProxy(metadata.annotations ?? {}) ? PROXY_RULES : defaultRules(deniedEgressCidrs);
  const { ingress = [], egress = [] } = (networkPolicy ?? ofHookbox) as Record<string, Json[]>;
  return {
    podSelector: { matchLabels: { [TEMPLATE_REF_HASH_LABEL]: nameHash(metadata.name) } },
    policyTypes: ["Ingress", "Egress"],
    ...(ingress.length > 0 ? { ingress: ingress.map(stored) } : {}),
    ...(egress.length > 0 ? { egress: egress.map(stored) } : {}),
  };
}

function stored(rule: Json): Json {
  const { ports } = rule;
  if (!Array.isArray(ports)) return rule;
  return { ...rule, ports: ports.map((port: Json) => ({ ...port, protocol: port["protocol"] ?? "TCP" })) };
}

/**
 * Each field may change to the template's value, or be removed if the template has none. Another writer's value may first
 * become Metacontroller's unchanged, so that Metacontroller can remove it later.
 */
function comesNearer({ path, is, will, child, observed: { parent } }: Of, spec: Json): boolean {
  if (child.metadata.name !== policyName(parent.metadata.name)) return false;
  const wanted = path.reduce<unknown>((value, key) => isObject(value) ? value[key] : undefined, { spec });
  return sameJson(will, wanted) || (sameJson(is, will) && wanted === undefined);
}
