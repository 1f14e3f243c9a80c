/** @module */
import { describe, expect, test } from "vitest";
import {
  type Observed,
  observedOf,
  podSchema,
  type Policy,
  type PolicyPod,
  policySchema,
  rulesetOf,
} from "../../../dev/cluster/networkpolicies/ruleset.ts";

const NAMESPACES = [
  { name: "a", labels: { "kubernetes.io/metadata.name": "a", team: "red" } },
  { name: "b", labels: { "kubernetes.io/metadata.name": "b" } },
];
const http = { name: "http", containerPort: 8080 };
const pod = (namespace: string, app: string, last: number, change: Partial<PolicyPod> = {}): PolicyPod => ({
  ...{ namespace, labels: { app }, addresses: [`10.0.0.${last}`], ports: [http] },
  ...change,
});
const PODS = [pod("a", "web", 3), pod("a", "client", 4), pod("b", "client", 5)];
const policy = (change: Partial<Policy>): Policy => ({
  ...{
    namespace: "a",
    podSelector: { matchLabels: { app: "web" } },
    policyTypes: ["Ingress"],
    ingress: [],
    egress: [],
  },
  ...change,
});
const world = (policies: Policy[], pods: PolicyPod[] = PODS): Observed => ({ pods, namespaces: NAMESPACES, policies });

/** The lines of one chain, without those around it. */
function chain(name: string, observed: Observed): string[] | undefined {
  const [, body] = new RegExp(`chain ${name} \\{([^}]*(?:\\{[^}]*\\}[^}]*)*?)\\n  \\}`).exec(rulesetOf(observed)) ?? [];
  return body?.trim().split("\n").map((line) => line.trim());
}
const web = (change: Partial<Policy>, pods?: PolicyPod[]) => {
  const chains = world([policy(change)], pods);
  return change.policyTypes?.[0] === "Egress" ? chain("egress-10-0-0-3", chains) : chain("ingress-10-0-0-3", chains);
};

describe("rulesetOf()", () => {
  test("without policies lets everything pass, and replaces what was there", () => {
    const text = rulesetOf(world([]));
    expect(text.split("\n").slice(0, 3)).toEqual([
      "table ip network-policies",
      "delete table ip network-policies",
      "table ip network-policies {",
    ]);
    expect(text).not.toContain("drop");
    expect(text).not.toContain("jump");
  });

  test("isolates only Pods that are selected, in the directions that are named", () => {
    const observed = world([policy({})]);
    expect(chain("ingress-10-0-0-3", observed)).toEqual(["drop"]);
    expect(chain("forward", observed)).toContain("ip daddr vmap { 10.0.0.3 : jump ingress-10-0-0-3 }");
    expect(rulesetOf(observed)).not.toMatch(/egress-|10-0-0-4|10-0-0-5/);
  });

  test("what a Pod sends is looked at on its way to others, and to its node", () => {
    const observed = world([policy({ policyTypes: ["Egress"] })]);
    const jump = "ip saddr vmap { 10.0.0.3 : jump egress-10-0-0-3 }";
    expect(chain("forward", observed)).toContain(jump);
    expect(chain("input", observed)).toContain(jump);
    expect(chain("egress-10-0-0-3", observed)).toEqual(["drop"]);
  });

  test.each<[string, Policy["ingress"], string[]]>([
    ["everybody", [{}], ["return"]],
    ["Pods of its own namespace", [{ from: [{ podSelector: {} }] }], ["ip saddr { 10.0.0.3, 10.0.0.4 } return"]],
    ["a namespace by its labels", [{ from: [{ namespaceSelector: { matchLabels: { team: "red" } } }] }], [
      "ip saddr { 10.0.0.3, 10.0.0.4 } return",
    ]],
    ["Pods of another namespace: both hold", [{
      from: [{
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "b" } },
        podSelector: { matchLabels: { app: "client" } },
      }],
    }], ["ip saddr { 10.0.0.5 } return"]],
    ["nobody that is there", [{ from: [{ podSelector: { matchLabels: { app: "gone" } } }] }], []],
    ["a block without a part of it", [{ from: [{ ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] } }] }], [
      "ip saddr 10.0.0.0/8 ip saddr != { 10.1.0.0/16 } return",
    ]],
    ["all addresses but some", [{ from: [{ ipBlock: { cidr: "0.0.0.0/0", except: ["10.0.0.0/8"] } }] }], [
      "ip saddr != { 10.0.0.0/8 } return",
    ]],
    ["blocks of IPv6, which nobody here has", [{ from: [{ ipBlock: { cidr: "::/0" } }] }], []],
    ["ports by number, range, protocol and name", [{
      ports: [{ port: 80 }, { port: 90, endPort: 99 }, { protocol: "UDP", port: 53 }, { protocol: "UDP" }, {
        port: "http",
      }],
    }], [
      "tcp dport 80 return",
      "tcp dport 90-99 return",
      "udp dport 53 return",
      "meta l4proto udp return",
      "tcp dport 8080 return",
    ]],
    ["a port that it has not", [{ ports: [{ port: "metrics" }] }], []],
    ["peers at ports: both hold", [{
      from: [{ podSelector: { matchLabels: { app: "client" } } }],
      ports: [{ port: 80 }],
    }], [
      "ip saddr { 10.0.0.4 } tcp dport 80 return",
    ]],
  ])("lets in %s", (_, ingress, lines) => {
    expect(web({ ingress })).toEqual([...lines, "drop"]);
  });

  test("the name of a port is that of the Pod which is reached", () => {
    const pods = [...PODS, pod("a", "client", 6, { ports: [{ name: "http", containerPort: 9000 }] })];
    const to = [{ podSelector: { matchLabels: { app: "client" } } }];
    expect(web({ policyTypes: ["Egress"], egress: [{ to, ports: [{ port: "http" }] }] }, pods)).toEqual([
      "ip daddr { 10.0.0.4 } tcp dport 8080 return",
      "ip daddr { 10.0.0.6 } tcp dport 9000 return",
      "drop",
    ]);
  });

  test("policies of one Pod add up; those of another namespace do not count", () => {
    const policies = [
      policy({ ingress: [{ ports: [{ port: 80 }] }] }),
      policy({ podSelector: {}, ingress: [{ ports: [{ port: 81 }] }] }),
      policy({ namespace: "b", podSelector: {}, ingress: [{}] }),
    ];
    expect(chain("ingress-10-0-0-3", world(policies))).toEqual(["tcp dport 80 return", "tcp dport 81 return", "drop"]);
    expect(chain("ingress-10-0-0-4", world(policies))).toEqual(["tcp dport 81 return", "drop"]);
  });

  test("of two Pods with one address the later counts", () => {
    const text = rulesetOf(world([policy({ podSelector: {} })], [pod("a", "web", 3), pod("a", "other", 3)]));
    expect(text.match(/chain ingress-10-0-0-3/g)).toHaveLength(1);
  });
});

test("observedOf() leaves out Pods of the node's own network and those that have ended", () => {
  const read = (change: object, status: object) =>
    podSchema.parse({
      metadata: { name: "p", namespace: "a", uid: "u" },
      spec: { containers: [{ name: "main", ports: [http] }], ...change },
      status,
    });
  const podIPs = [{ ip: "10.0.0.3" }, { ip: "fd00::3" }];
  const pods = [
    read({}, { phase: "Running", podIPs }),
    read({}, { phase: "Failed", podIPs }),
    read({ hostNetwork: true }, { phase: "Running", podIPs }),
    read({}, {}),
  ];
  expect(observedOf(pods, [], []).pods).toEqual([
    { namespace: "a", labels: {}, addresses: ["10.0.0.3"], ports: [http] },
    { namespace: "a", labels: {}, addresses: [], ports: [http] },
  ]);
});

test("a policy that names no types isolates from what comes in", () => {
  const read = policySchema.parse({ metadata: { name: "n", namespace: "a", uid: "u" }, spec: {} });
  const { policies } = observedOf([], [], [read]);
  expect(policies).toEqual([{ namespace: "a", podSelector: {}, policyTypes: ["Ingress"], ingress: [], egress: [] }]);
});
