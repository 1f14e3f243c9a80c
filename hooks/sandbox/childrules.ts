/**
 * Declares for the guard how an answer may create and change a Sandbox's Pod (podrules.ts), Service and volumes. The rules
 * are computed from the Sandbox, without the code that builds these objects. @module
 */
import type { V1Container } from "@kubernetes/client-node";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { sameJson } from "../../packages/api/objects/apply.ts";
import { isObject } from "../../packages/api/objects/json.ts";
import { CONTROLLER_UID_LABEL, isEngineKey, NAME_HASH_LABEL } from "../../packages/api/objects/keys.ts";
import { nameHash } from "../../packages/api/objects/names.ts";
import type { Change, ChildRule, ChildRules } from "../../packages/webhook/childrules.ts";
import { differences } from "../../packages/webhook/fieldchanges.ts";
import { isExpired } from "./deletionreasons.ts";
import { podRule, volumeTemplates } from "./podrules.ts";

const volumeRule: ChildRule<Sandbox> = {
  resource: "persistentvolumeclaims",
  updateStrategy: "OnDelete",
  mayChange: {},
  wrongWith(pvc, { parent }) {
    const wanted = volumeTemplates(parent).find(({ claimName }) => claimName === pvc.metadata.name);
    if (!wanted) return ["metadata.name"];
    const { metadata = {}, spec } = wanted.template;
    const { annotations } = metadata;
    return differences(pvc, {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: {
        name: wanted.claimName,
        labels: { ...withoutEngineKeys(metadata.labels), [NAME_HASH_LABEL]: nameHash(parent.metadata.name) },
        ...(annotations ? { annotations: withoutEngineKeys(annotations) } : {}),
      },
      spec,
    });
  },
};

function withoutEngineKeys(map: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !isEngineKey(key)));
}

const serviceRule: ChildRule<Sandbox> = {
  resource: "services",
  updateStrategy: "InPlace",
  mayChange: {
    "metadata.labels": ({ path, will, observed: { parent } }) =>
      path[2] === NAME_HASH_LABEL ? will === nameHash(parent.metadata.name) : will === undefined,
    "spec.clusterIP": ({ will }) => will === "None",
    "spec.selector": comesNearer,
    "spec.ports": ({ is, wants, observed: { parent } }) => sameJson(is, wants) || arePortsOf(parent, wants),
  },
  wrongWith(service, { parent }, now) {
    const { name } = parent.metadata;
    if (parent.spec.service !== true) return ["a Service that is not asked for"];
    if (isExpired(parent, now)) return ["a Service of an expired Sandbox"];
    const ports = isObject(service.spec) ? service.spec["ports"] : undefined;
    const wrong = differences(service, {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, labels: { [NAME_HASH_LABEL]: nameHash(name) } },
      spec: { clusterIP: "None", selector: selectorOf(parent), ...(ports === undefined ? {} : { ports }) },
    });
    return arePortsOf(parent, ports) ? wrong : [...wrong, "spec.ports"];
  },
};

/** Labels that only the Pods of one Sandbox have. */
function selectorOf({ metadata: { name, uid } }: Sandbox): Record<string, string> {
  return { [NAME_HASH_LABEL]: nameHash(name), ...(uid === undefined ? {} : { [CONTROLLER_UID_LABEL]: uid }) };
}

/** A selector may change only towards those labels. */
function comesNearer({ path, will, observed: { parent } }: Change<Sandbox>): boolean {
  const [, , key] = path;
  if (key === undefined) return false;
  const wanted = selectorOf(parent);
  return Object.hasOwn(wanted, key) ? will === wanted[key] : will === undefined;
}

/** Tells whether a Service has the ports that containers and sidecars declare, each once, with names derived from them. */
function arePortsOf({ spec }: Sandbox, ports: unknown): boolean {
  const { containers, initContainers = [] } = spec.podTemplate.spec;
  const names = new Map<string, Set<string>>();
  for (const { ports = [] } of [...containers, ...initContainers.filter(isSidecar)]) {
    for (const { containerPort, protocol = "TCP", name } of ports) {
      const key = `${containerPort}/${protocol}`;
      names.set(key, (names.get(key) ?? new Set<string>()).add(name ?? ""));
    }
  }
  const list = ports === undefined ? [] : ports;
  if (!Array.isArray(list) || list.length !== names.size) return false;
  const seen = new Set(list.map((each) => isObject(each) ? `${each["port"]}/${each["protocol"]}` : ""));
  return seen.size === names.size && list.every((each) => {
    const { name, port, protocol, targetPort, ...more } = each as Record<string, unknown>;
    const given = names.get(`${port}/${protocol}`);
    const generated = `p-${port}-${String(protocol).toLowerCase()}`;
    const isNamed = typeof name === "string" &&
      ((name !== "" && given?.has(name) === true) || name === generated || name.replace(/-\d+$/, "") === generated);
    return given !== undefined && isNamed && targetPort === port && Object.keys(more).length === 0;
  });
}

function isSidecar({ restartPolicy }: V1Container): boolean {
  return restartPolicy === "Always";
}

export const childRules: ChildRules<Sandbox> = {
  "Pod.v1": podRule,
  "Service.v1": serviceRule,
  "PersistentVolumeClaim.v1": volumeRule,
};
