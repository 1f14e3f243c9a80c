/**
 * Converts NetworkPolicies to an nftables ruleset, for tests on a local cluster with one node; IPv4 only. In clusters
 * for users, a network plugin enforces the policies. @module
 */
import * as z from "zod";
import { objectMetaSchema } from "../../../packages/api/objects/schemas.ts";
import { type LabelSelector, matcherOf } from "../../../packages/testing/store/selectors.ts";

/** A Pod that has its own address. */
export interface PolicyPod {
  namespace: string;
  labels: Record<string, string>;
  /** IPv4 addresses. */
  addresses: string[];
  ports: ContainerPort[];
}

interface ContainerPort {
  name?: string | undefined;
  containerPort: number;
  protocol?: string | undefined;
}

/** A Namespace. */
interface PolicyNamespace {
  name: string;
  labels: Record<string, string>;
}

/** A NetworkPolicy (networking.k8s.io/v1), as the API server has it. */
export interface Policy {
  namespace: string;
  podSelector: LabelSelector;
  policyTypes: readonly string[];
  ingress: { from?: Peer[]; ports?: Port[] }[];
  egress: { to?: Peer[]; ports?: Port[] }[];
}

interface Peer {
  podSelector?: LabelSelector;
  namespaceSelector?: LabelSelector;
  ipBlock?: { cidr: string; except?: string[] };
}

interface Port {
  /** Absent: TCP. */
  protocol?: string;
  /** A number, or the name of a port of the destination Pod; absent: all ports. */
  port?: number | string;
  endPort?: number;
}

/** The objects from which a ruleset is computed. */
export interface Observed {
  pods: readonly PolicyPod[];
  namespaces: readonly PolicyNamespace[];
  policies: readonly Policy[];
}

/** Name of the table. Nobody else uses it. */
const TABLE = "ip network-policies";

const DIRECTIONS = ["ingress", "egress"] as const;

interface Chain {
  direction: Direction;
  address: string;
  name: string;
  rules: string[];
}

/**
 * Returns the ruleset, which replaces the previous one in one step.
 *
 * | a Pod | its traffic |
 * |---|---|
 * | no policy selects it for a direction | passes |
 * | a policy selects it | passes if a rule of one of its policies allows it, otherwise it is dropped |
 *
 * Answers to allowed traffic also pass, and so does everything that the node itself sends, such as the kubelet's
 * probes. Traffic from a Pod to its node, where DNS is, is treated like traffic to any other address.
 */
export function rulesetOf(observed: Observed): string {
  const isolated = observed.pods.flatMap((pod) =>
    DIRECTIONS.flatMap((direction) => {
      const policies = observed.policies.filter((policy) => isolates(policy, pod, direction));
      return policies.length === 0 ? [] : chainsOf(pod, policies, direction, observed);
    })
  );
  // A listed Pod may have lost its address to another listed Pod.
  const chains = [...new Map(isolated.map((chain) => [chain.name, chain])).values()];
  const jumps = (direction: Direction) => {
    const own = chains.filter((chain) => chain.direction === direction);
    if (own.length === 0) return [];
    const verdicts = own.map(({ address, name }) => `${address} : jump ${name}`);
    return [`ip ${direction === "ingress" ? "daddr" : "saddr"} vmap { ${verdicts.join(", ")} }`];
  };
  const established = "ct state established,related accept";
  return [
    `table ${TABLE}`,
    `delete table ${TABLE}`,
    `table ${TABLE} {`,
    ...chains.flatMap(({ name, rules }) => block(`chain ${name}`, [...rules, "drop"])),
    ...block("chain forward", [
      "type filter hook forward priority filter; policy accept;",
      established,
      ...jumps("egress"),
      ...jumps("ingress"),
    ]),
    ...block("chain input", [
      "type filter hook input priority filter; policy accept;",
      established,
      ...jumps("egress"),
    ]),
    "}",
    "",
  ].join("\n");
}
type Direction = typeof DIRECTIONS[number];

function block(head: string, lines: string[]): string[] {
  return [`  ${head} {`, ...lines.map((line) => `    ${line}`), "  }"];
}

function isolates({ namespace, podSelector, policyTypes }: Policy, pod: PolicyPod, direction: Direction): boolean {
  const type = direction === "ingress" ? "Ingress" : "Egress";
  return namespace === pod.namespace && policyTypes.includes(type) && matcherOf(podSelector)(pod.labels);
}

function chainsOf(pod: PolicyPod, policies: Policy[], direction: Direction, observed: Observed): Chain[] {
  const rules = policies.flatMap((policy) => {
    const list = direction === "ingress"
      ? policy.ingress.map(({ from, ports }) => ({ peers: from, ports }))
      : policy.egress.map(({ to, ports }) => ({ peers: to, ports }));
    return list.flatMap((rule) => conditionsOf(rule, policy.namespace, pod, direction, observed));
  });
  return pod.addresses.map((address) => ({
    direction,
    address,
    name: `${direction}-${address.replaceAll(".", "-")}`,
    rules: [...new Set(rules)].map((condition) => `${condition} return`.trim()),
  }));
}

/** Returns what one rule allows, as conditions of nftables. An empty condition matches everything. */
function conditionsOf(
  { peers = [], ports = [] }: { peers?: Peer[] | undefined; ports?: Port[] | undefined },
  namespace: string,
  pod: PolicyPod,
  direction: Direction,
  observed: Observed,
): string[] {
  const side = direction === "ingress" ? "saddr" : "daddr";
  const anyPeer = peers.length === 0;
  const blocks = peers.flatMap(({ ipBlock }) => ipBlock && !ipBlock.cidr.includes(":") ? [blockOf(ipBlock, side)] : []);
  const reached = observed.pods.filter((each) => peers.some((peer) => selects(peer, each, namespace, observed)));
  const among = (pods: readonly PolicyPod[]) => addressCondition(pods.flatMap(({ addresses }) => addresses), side);
  const others = anyPeer ? [""] : [...blocks, ...among(reached)];
  if (ports.length === 0) return others;
  const both = (peer: string, at: string) => `${peer} ${at}`.trim();
  return ports.flatMap((port) => {
    const numbers = typeof port.port === "string" ? undefined : [portCondition(port)];
    if (numbers || direction === "ingress") {
      return (numbers ?? named(pod, port)).flatMap((at) => others.map((peer) => both(peer, at)));
    }
    // The name of a port is one of the destination Pod. A block of addresses has no port names.
    const targets = anyPeer ? observed.pods : reached;
    return targets.flatMap((target) =>
      named(target, port).flatMap((at) => among([target]).map((peer) => both(peer, at)))
    );
  });
}

function selects(peer: Peer, pod: PolicyPod, namespace: string, { namespaces }: Observed): boolean {
  if (peer.ipBlock) return false;
  const { labels = {} } = namespaces.find(({ name }) => name === pod.namespace) ?? {};
  const isThere = peer.namespaceSelector ? matcherOf(peer.namespaceSelector)(labels) : pod.namespace === namespace;
  return isThere && matcherOf(peer.podSelector)(pod.labels);
}

function blockOf({ cidr, except = [] }: NonNullable<Peer["ipBlock"]>, side: string): string {
  const within = cidr === "0.0.0.0/0" ? [] : [`ip ${side} ${cidr}`];
  return [...within, ...except.length > 0 ? [`ip ${side} != { ${except.join(", ")} }`] : []].join(" ");
}

function addressCondition(addresses: string[], side: string): string[] {
  return addresses.length === 0 ? [] : [`ip ${side} { ${addresses.sort().join(", ")} }`];
}

function named(pod: PolicyPod, { port, protocol = "TCP" }: Port): string[] {
  const found = pod.ports.filter((own) => own.name === port && (own.protocol ?? "TCP") === protocol);
  return found.map(({ containerPort }) => portCondition({ protocol, port: containerPort }));
}

function portCondition({ protocol = "TCP", port, endPort }: Port): string {
  const name = protocol.toLowerCase();
  if (port === undefined) return `meta l4proto ${name}`;
  return `${name} dport ${port}${endPort === undefined ? "" : `-${endPort}`}`;
}

const metadata = objectMetaSchema.extend({ namespace: z.string().default("") });
const port = z.looseObject({ name: z.string().optional(), containerPort: z.number(), protocol: z.string().optional() });

/** A Pod with its ports. */
export const podSchema = z.looseObject({
  metadata,
  spec: z.looseObject({
    hostNetwork: z.boolean().default(false),
    containers: z.array(z.looseObject({ ports: z.array(port).default([]) })).default([]),
  }),
  status: z.looseObject({
    phase: z.string().optional(),
    podIPs: z.array(z.object({ ip: z.string() })).default([]),
  }).default({ podIPs: [] }),
});

/** A Namespace with its labels. */
export const namespaceSchema = z.looseObject({ metadata: objectMetaSchema });

/** A NetworkPolicy. The API server has checked its rules. */
export const policySchema = z.looseObject({
  metadata,
  spec: z.looseObject({
    podSelector: z.custom<Policy["podSelector"]>().default({}),
    policyTypes: z.array(z.string()).default(["Ingress"]),
    ingress: z.array(z.custom<Policy["ingress"][number]>()).default([]),
    egress: z.array(z.custom<Policy["egress"][number]>()).default([]),
  }),
});

export type Pod = z.infer<typeof podSchema>;
export type Namespace = z.infer<typeof namespaceSchema>;
export type NetworkPolicy = z.infer<typeof policySchema>;

/** Converts objects of the API server. Pods in the node's own network and Pods that have ended are left out. */
export function observedOf(
  pods: readonly Pod[],
  namespaces: readonly Namespace[],
  policies: readonly NetworkPolicy[],
): Observed {
  // The address of a Pod that has ended may already belong to another Pod.
  const live = pods.filter(({ spec, status }) =>
    !spec.hostNetwork && status.phase !== "Succeeded" && status.phase !== "Failed"
  );
  return {
    pods: live.map(({ metadata: { namespace, labels = {} }, spec, status }) => ({
      namespace,
      labels,
      addresses: status.podIPs.map(({ ip }) => ip).filter((ip) => !ip.includes(":")),
      ports: spec.containers.flatMap((container) => container.ports),
    })),
    namespaces: namespaces.map(({ metadata: { name, labels = {} } }) => ({ name, labels })),
    policies: policies.map(({ metadata: { namespace }, spec }) => ({ namespace, ...spec })),
  };
}
