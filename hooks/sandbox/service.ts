/** Builds the headless Service of a Sandbox, which gives it a stable DNS name. @module */
import type { V1Container, V1ServicePort, V1ServiceSpec } from "@kubernetes/client-node";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { lastApplied } from "../../packages/api/objects/apply.ts";
import { CONTROLLER_UID_LABEL, NAME_HASH_LABEL } from "../../packages/api/objects/keys.ts";
import { nameHash } from "../../packages/api/objects/names.ts";
import type { DesiredObject, KubeObject } from "../../packages/api/objects/objects.ts";

type Service = DesiredObject<"Service", Partial<V1ServiceSpec>>;

/**
 * Builds the Service. It has the Sandbox's name, is headless, selects the Sandbox's Pod, and has one port for each
 * combination of port and protocol in the containers and sidecars. Source: Agent Sandbox API, section 2.5.
 *
 * The name hash of the API has only 32 bits, so it is easy to find another Sandbox name with the same hash. The Service
 * therefore also selects by this Sandbox's UID, which every child has as a label.
 */
export function buildService(sandbox: Sandbox): Service {
  return headless(sandbox, servicePorts(sandbox), true);
}

/**
 * Returns an existing Service, with its labels and selector corrected.
 *
 * | `spec.service` | ports |
 * |---|---|
 * | true | corrected |
 * | absent | unchanged |
 *
 * In both cases, ports with the same number are left unchanged once the keeper has removed them from last-applied:
 * Metacontroller merges Service ports by number, and would combine them into one.
 *
 * @param hasPod whether a Pod of the Sandbox is observed. A Pod that was taken over may not have the UID label yet.
 * Until a Pod is observed, a Service that selects without the UID therefore continues to do so
 */
export function keepService(sandbox: Sandbox, service: KubeObject, hasPod: boolean): Service {
  const ports = servicePorts(sandbox);
  const byUID = hasPod || specOf(service)?.selector?.[CONTROLLER_UID_LABEL] !== undefined;
  if (sharesNumbers(ports) && appliedPorts(service) === undefined) return headless(sandbox, undefined, byUID);
  return headless(sandbox, sandbox.spec.service === true ? ports : specOf(service)?.ports, byUID);
}

/**
 * Lists the ports, sorted by number and then by protocol. If several ports have the same name, the first port in the
 * order of the containers gets it. A port without a name of its own is called `p-<port>-<protocol>`.
 */
export function servicePorts(sandbox: Sandbox): V1ServicePort[] {
  const { containers, initContainers = [] } = sandbox.spec.podTemplate.spec;
  const sidecars = initContainers.filter((container) => container.restartPolicy === "Always");
  const ports = distinctPorts([...containers, ...sidecars]);
  const taken = new Set(ports.flatMap(({ name }) => name ?? []));
  return ports.map(({ port, protocol, name = freeName(`p-${port}-${protocol.toLowerCase()}`, taken) }) => {
    taken.add(name);
    return { name, port, protocol, targetPort: port };
  });
}

interface Port {
  port: number;
  protocol: string;
  /** Undefined: the port has no name, or another port already has the name. */
  name: string | undefined;
}

function distinctPorts(containers: V1Container[]): Port[] {
  const byKey = new Map<string, Port>();
  const taken = new Set<string>();
  for (const { containerPort: port, protocol = "TCP", name } of containers.flatMap(({ ports = [] }) => ports)) {
    const key = `${port}/${protocol}`;
    const known = byKey.get(key) ?? { port, protocol, name: undefined };
    if (name && known.name === undefined && !taken.has(name)) {
      known.name = name;
      taken.add(name);
    }
    byKey.set(key, known);
  }
  return [...byKey.values()].sort((a, b) => a.port - b.port || (a.protocol < b.protocol ? -1 : 1));
}

function freeName(base: string, taken: Set<string>): string {
  let name = base;
  for (let suffix = 2; taken.has(name); suffix++) name = `${base}-${suffix}`;
  return name;
}

function headless(sandbox: Sandbox, ports: V1ServicePort[] | undefined, byUID: boolean): Service {
  const { name, uid } = sandbox.metadata;
  const labels = { [NAME_HASH_LABEL]: nameHash(name) };
  const selector = { ...labels, ...(byUID && uid !== undefined ? { [CONTROLLER_UID_LABEL]: uid } : {}) };
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, labels },
    spec: { clusterIP: "None", selector, ...(ports && ports.length > 0 ? { ports } : {}) },
  };
}

function sharesNumbers(ports: V1ServicePort[]): boolean {
  return new Set(ports.map(({ port }) => port)).size < ports.length;
}

function specOf(service: KubeObject): V1ServiceSpec | undefined {
  return service["spec"] as V1ServiceSpec | undefined;
}

function appliedPorts(service: KubeObject): unknown {
  return (lastApplied(service)?.["spec"] as V1ServiceSpec | undefined)?.ports;
}
