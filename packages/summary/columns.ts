/** The table columns of each kind. Pure. @module */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import { lifetimeOf } from "../api/expiry.ts";
import type { PodFact } from "../api/diagnosis/facts.ts";
import { controllerOf, type KubeObject } from "../api/objects/objects.ts";
import type { Kind } from "./kinds.ts";
import { ageOf, untilOf } from "./age.ts";
import { claimStatus, poolStatus, sandboxStatus, type Status, statusText } from "./status.ts";

/** Other objects that the status of an object depends on; absent: not read. */
export interface Around {
  /** The claim's Sandbox. */
  sandbox?: Sandbox | undefined;
  /** The Pod of the Sandbox. */
  pod?: PodFact | undefined;
}

interface Column {
  header: string;
  /** Shown only with `-o wide`. */
  isWide?: boolean;
  cell(object: KubeObject, now: Date, around?: Around): string;
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

function status(kind: Kind["kind"]): Column {
  const text = (found: Status | undefined) => found === undefined ? NONE : statusText(found);
  return { header: "STATUS", cell: (object, now, around) => text(statusOf(kind, object, now, around)) };
}

/** Returns the status of an object of a kind; undefined: the kind has none. */
export function statusOf(
  kind: Kind["kind"],
  object: KubeObject,
  now: Date,
  { sandbox, pod }: Around = {},
): Status | undefined {
  // The casts are safe: the API server has validated what it stores.
  switch (kind) {
    case "Sandbox":
      return sandboxStatus(object as Sandbox, pod, now);
    case "SandboxClaim":
      return claimStatus(object as SandboxClaim, sandbox, pod, now);
    case "SandboxWarmPool":
      return poolStatus(object as SandboxWarmPool, now);
    case "SandboxTemplate":
      return undefined;
  }
}

const COLUMNS: Record<Kind["kind"], Column[]> = {
  Sandbox: [
    NAME,
    status("Sandbox"),
    column<Sandbox>("CLAIM", (sandbox) => ownerOf(sandbox, "SandboxClaim")),
    AGE,
    wide<Sandbox>("POD IP", ({ status }) => status?.podIPs?.join(",")),
    wide<Sandbox>("NODE", ({ status }) => status?.nodeName),
    wide<Sandbox>("EXPIRES", (sandbox, now) => untilOf(lifetimeOf(sandbox).shutdownTime, now)),
    wide<Sandbox>("POOL", (sandbox) => ownerOf(sandbox, "SandboxWarmPool")),
  ],
  SandboxClaim: [
    NAME,
    status("SandboxClaim"),
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
    status("SandboxWarmPool"),
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

function ownerOf({ metadata }: KubeObject, kind: string): string | undefined {
  const owner = controllerOf(metadata);
  return owner?.kind === kind ? owner.name : undefined;
}
