/** What the fields of a Sandbox's status may be, for the guard: clients connect by them. @module */
import type { Sandbox, SandboxStatus } from "../../packages/api/sandbox.ts";
import { lifetimeOf } from "../../packages/api/expiry.ts";
import { sameJson } from "../../packages/api/objects/apply.ts";
import type { Json } from "../../packages/api/objects/json.ts";
import { NAME_HASH_LABEL } from "../../packages/api/objects/keys.ts";
import { nameHash } from "../../packages/api/objects/names.ts";
import type { Pod } from "../../packages/api/objects/pods.ts";
import type { StatusRules } from "../../packages/webhook/evidence.ts";
import type { Observed } from "../../packages/webhook/metacontroller.ts";
import type { SandboxConfig } from "./options.ts";

type Of = Observed<Sandbox>;

/** Makes the rules for one installation. */
export function statusRules({ clusterDomain }: SandboxConfig): StatusRules<Sandbox> {
  /** What is over, or being deleted, may go on to say what it said, or nothing. */
  const field = (name: keyof SandboxStatus, isRight: (value: unknown, observed: Of) => boolean) =>
  (
    value: unknown,
    observed: Of,
    now: Date,
    status: Json,
  ) =>
    isRight(value, observed) || Object.keys(status).length === 0 ||
    (isOver(observed, now) && (value === undefined || sameJson(value, observed.parent.status?.[name])));
  return {
    conditionTypes: ["ContainersFailing", "Finished", "PodLost", "PodOutdated", "PodScheduled", "Ready", "Suspended"],
    keepsOthers: true,
    fields: {
      podIPs: field("podIPs", (value, observed) => sameJson(value, addressesOf(observed))),
      nodeName: field(
        "nodeName",
        (value, { parent, children }) =>
          [undefined, parent.status?.nodeName, ...podsIn(children).map(({ spec }) => spec?.nodeName)]
            .includes(value as string | undefined),
      ),
      service: field("service", (value, observed) => value === serviceOf(observed, (name) => name, "service")),
      serviceFQDN: field(
        "serviceFQDN",
        (value, observed) =>
          value ===
            serviceOf(observed, (name, namespace) => `${name}.${namespace}.svc.${clusterDomain}`, "serviceFQDN"),
      ),
      selector: field(
        "selector",
        (value, { parent: { metadata, status } }) =>
          value === undefined ? !status?.selector : value === `${NAME_HASH_LABEL}=${nameHash(metadata.name)}`,
      ),
    },
  };
}

function isOver({ parent }: Of, now: Date): boolean {
  return parent.metadata.deletionTimestamp !== undefined ||
    Date.parse(lifetimeOf(parent).shutdownTime ?? "") <= now.getTime();
}

function podsIn(children: Of["children"]): Pod[] {
  return Object.values(children["Pod.v1"] ?? {}) as Pod[];
}

/** The addresses of the one Pod; none of several. */
function addressesOf({ children }: Of): string[] | undefined {
  const [pod, ...more] = podsIn(children);
  const addresses = more.length === 0 ? pod?.status?.podIPs?.map(({ ip }) => ip) ?? [] : [];
  return addresses.length > 0 ? addresses : undefined;
}

function serviceOf(
  { parent: { metadata, spec, status }, children }: Of,
  told: (name: string, namespace: string | undefined) => string,
  field: "service" | "serviceFQDN",
): string | undefined {
  if (podsIn(children).length > 1) return status?.[field] || undefined;
  const { name, namespace } = metadata;
  const isThere = Object.values(children["Service.v1"] ?? {}).some((service) => service.metadata.name === name);
  return isThere && spec.service !== false ? told(name, namespace) : undefined;
}
