/** The table columns of each kind. Pure. @module */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import { lifetimeOf } from "../api/expiry.ts";
import type { Condition } from "../api/objects/conditions.ts";
import { controllerOf, type KubeObject } from "../api/objects/objects.ts";
import type { Kind } from "./kinds.ts";
import { ageOf, untilOf } from "./age.ts";

interface Column {
  header: string;
  /** Shown only with `-o wide`. */
  isWide?: boolean;
  cell(object: KubeObject, now: Date): string;
}

const NONE = "<none>";
const NAMESPACE: Column = { header: "NAMESPACE", cell: ({ metadata }) => metadata.namespace ?? NONE };
const NAME: Column = { header: "NAME", cell: ({ metadata }) => metadata.name };
const AGE: Column = { header: "AGE", cell: ({ metadata }, now) => ageOf(metadata.creationTimestamp, now) };

function column<T extends KubeObject>(header: string, cell: (object: T, now: Date) => string | undefined): Column {
  return { header, cell: (object, now) => cell(object as T, now) || NONE };
}

function wide<T extends KubeObject>(header: string, cell: (object: T, now: Date) => string | undefined): Column {
  return { ...column(header, cell), isWide: true };
}

const COLUMNS: Record<Kind["kind"], Column[]> = {
  Sandbox: [
    NAME,
    column<Sandbox>("READY", ({ status }) => ready(status)?.status),
    column<Sandbox>("REASON", ({ status }) => sandboxReason(status)),
    column<Sandbox>("CLAIM", (sandbox) => ownerOf(sandbox, "SandboxClaim")),
    AGE,
    wide<Sandbox>("POD IP", ({ status }) => status?.podIPs?.join(",")),
    wide<Sandbox>("NODE", ({ status }) => status?.nodeName),
    wide<Sandbox>("MODE", ({ spec }) => spec.operatingMode ?? "Running"),
    wide<Sandbox>("EXPIRES", (sandbox, now) => untilOf(lifetimeOf(sandbox).shutdownTime, now)),
    wide<Sandbox>("POOL", (sandbox) => ownerOf(sandbox, "SandboxWarmPool")),
  ],
  SandboxClaim: [
    NAME,
    column<SandboxClaim>("READY", ({ status }) => ready(status)?.status),
    column<SandboxClaim>("REASON", ({ status }) => ready(status)?.reason),
    column<SandboxClaim>("SANDBOX", ({ status }) => status?.sandbox?.name),
    AGE,
    wide<SandboxClaim>("POOL", ({ spec }) => spec.warmPoolRef.name),
    wide<SandboxClaim>("POD IP", ({ status }) => status?.sandbox?.podIPs?.join(",")),
    wide<SandboxClaim>("EXPIRES", ({ spec }, now) => untilOf(spec.lifecycle?.shutdownTime, now)),
  ],
  SandboxWarmPool: [
    NAME,
    column<SandboxWarmPool>("READY", ({ status }) => String(status?.readyReplicas ?? 0)),
    column<SandboxWarmPool>("DESIRED", ({ spec }) => String(spec.replicas ?? 1)),
    column<SandboxWarmPool>("REASON", ({ status }) => find(status?.conditions, "Progressing")?.reason),
    column<SandboxWarmPool>("TEMPLATE", ({ spec }) => spec.sandboxTemplateRef.name),
    AGE,
    wide<SandboxWarmPool>("UPDATES", ({ spec }) => spec.updateStrategy?.type ?? "OnReplenish"),
  ],
  SandboxTemplate: [
    NAME,
    column<SandboxTemplate>("IMAGES", ({ spec }) => spec.podTemplate.spec.containers.map(({ image }) => image).join()),
    AGE,
    wide<SandboxTemplate>("RUNTIME", ({ spec }) => spec.podTemplate.spec.runtimeClassName),
  ],
};

/** Returns the columns for a kind, with NAMESPACE first if `allNamespaces` is true. */
export function columnsOf(
  kind: Pick<Kind, "kind">,
  { isWide, allNamespaces }: { isWide: boolean; allNamespaces: boolean },
): Column[] {
  const own = COLUMNS[kind.kind].filter((column) => isWide || !column.isWide);
  return allNamespaces ? [NAMESPACE, ...own] : own;
}

type Status = { conditions?: Condition[] | undefined } | undefined;

function ready(status: Status): Condition | undefined {
  return find(status?.conditions, "Ready");
}

/** Returns the reason of condition Ready; for a Ready Sandbox whose Pod is older than its spec: PodOutdated. */
function sandboxReason(status: Status): string | undefined {
  const condition = ready(status);
  const outdated = find(status?.conditions, "PodOutdated");
  return condition?.status === "True" && outdated?.status === "True" ? outdated.type : condition?.reason;
}

function find(conditions: Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

function ownerOf({ metadata }: KubeObject, kind: string): string | undefined {
  const owner = controllerOf(metadata);
  return owner?.kind === kind ? owner.name : undefined;
}
