/** The status of the objects of a list, and how it looks: icon and colour, and a button with a count for each. @module */
import { useMemo, useRef } from "preact/hooks";
import type { PodFact, PodSpecFact } from "../api/diagnosis/facts.ts";
import { NAME_HASH_LABEL } from "../api/objects/keys.ts";
import { controllerOf, type KubeObject } from "../api/objects/objects.ts";
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import type { Api } from "../kube/api.ts";
import { claimStatus, poolStatus, sandboxStatus, type Status, type Tone } from "../summary/status.ts";
import { E2B_CLAIMS, type Projects, useProjects } from "./projects.ts";
import { KIND_LISTS, type Listed, type Route } from "./route.ts";
import type { StatusCount } from "./rows.ts";
import { type Collection, useCollection, type Watched } from "./state.ts";

/** Lists need no managedFields, which are a third of an object. */
const [SANDBOXES, CLAIMS, POOLS, TEMPLATES] = KIND_LISTS.map(({ kind, resource }): Watched => ({
  kind,
  resource,
  keep: ({ metadata: { managedFields: _, ...metadata }, ...object }) => ({ ...object, metadata } as KubeObject),
}));

/** The Pods of Sandboxes, without what no status depends on: 3,000 whole Pods take 30 MB. */
const PODS: Watched = {
  kind: "Pod",
  resource: "pods",
  query: { labelSelector: NAME_HASH_LABEL },
  keep({ apiVersion, kind, metadata, ...pod }) {
    const { name, namespace, uid, creationTimestamp, deletionTimestamp, ownerReferences, labels } = metadata;
    const { finalizers } = metadata as { finalizers?: string[] };
    const { spec = {}, status = {} } = pod as { spec?: Record<string, unknown>; status?: Record<string, unknown> };
    const { nodeName, restartPolicy, schedulerName, schedulingGates, readinessGates } = spec;
    const containers = (spec["containers"] as PodSpecFact["containers"])?.map((
      { name, livenessProbe, startupProbe },
    ) => ({ name, livenessProbe, startupProbe }));
    const { phase, reason, message, conditions, initContainerStatuses, containerStatuses } = status;
    const kept = { name, namespace, uid, creationTimestamp, deletionTimestamp, ownerReferences, labels, finalizers };
    return {
      apiVersion,
      kind,
      metadata: kept as typeof metadata,
      spec: { nodeName, restartPolicy, schedulerName, schedulingGates, readinessGates, containers },
      status: { phase, reason, message, conditions, initContainerStatuses, containerStatuses },
    };
  },
};

/** What the lists and the panel are computed from. A collection that the shown list does not need is not watched. */
export interface Watches {
  sandboxes: Collection;
  claims: Collection;
  pools: Collection;
  templates: Collection;
  pods: Collection;
  projects: Projects;
}

/** Watches the shown objects, and those that their STATUS depends on: once for the list and the panel. */
export function useWatches(api: Api, { list: { kind }, namespace: wanted }: Route): Watches {
  const namespace = wanted || undefined;
  const isShown = (...kinds: Listed["kind"][]) => kinds.includes(kind);
  const isLight = isShown("SandboxTemplate", "Project");
  const isOfPods = isShown("Sandbox", "SandboxClaim");
  return {
    sandboxes: useCollection(api, isLight ? undefined : SANDBOXES, namespace),
    claims: useCollection(api, isShown("Project") ? E2B_CLAIMS : isLight ? undefined : CLAIMS, namespace),
    pools: useCollection(api, isShown("SandboxWarmPool") ? POOLS : undefined, namespace),
    templates: useCollection(api, isShown("SandboxTemplate") ? TEMPLATES : undefined, namespace),
    pods: useCollection(api, isOfPods ? PODS : undefined, namespace),
    projects: useProjects(api, isShown("Project"), wanted),
  };
}

/** Returns the collection that a list shows. */
export function shownOf({ kind }: Listed, watches: Watches): Collection {
  const collections = {
    Sandbox: "sandboxes",
    SandboxClaim: "claims",
    SandboxWarmPool: "pools",
    SandboxTemplate: "templates",
    Project: "projects",
  } as const;
  return watches[collections[kind]];
}

/** A status that was computed before, and what it was computed from. */
interface Known {
  sandbox: Sandbox | undefined;
  pod: PodFact | undefined;
  at: number;
  status: Status;
}

/** How long a status that nothing has changed is valid, in milliseconds; others than `progress` hardly depend on time. */
const VALID_MS = { progress: 4000, bad: 60_000, good: 60_000, off: 60_000 };

/** Returns whether objects have no status yet: without its Pod, a sandbox that crashes would look like one that starts. */
export function isStatusAwaited(kind: string, { sandboxes, pods }: Watches): boolean {
  return (kind === "Sandbox" && isPending(pods)) ||
    (kind === "SandboxClaim" && (isPending(pods) || isPending(sandboxes)));
}

/** Neither listed nor refused. */
function isPending({ isListed, trouble }: Collection): boolean {
  return !isListed && trouble === undefined;
}

/** Returns a function that computes the status of an object; undefined: its kind has none, or it is awaited. */
export function useStatusOf(watches: Watches, now: Date): (object: KubeObject) => Status | undefined {
  const { sandboxes, pods } = watches;
  const known = useRef(new WeakMap<KubeObject, Known>());
  const podsByName = useMemo(() => new Map(pods.objects.map((pod) => [keyOf(pod), pod as PodFact])), [pods.objects]);
  const byClaim = useMemo(() => {
    const all = sandboxes.objects as Sandbox[];
    return new Map(all.flatMap((sandbox) => {
      const owner = controllerOf(sandbox.metadata);
      return owner?.kind === "SandboxClaim" ? [[owner.uid, sandbox] as const] : [];
    }));
  }, [sandboxes.objects]);
  return (object) => {
    if (["SandboxTemplate", "Namespace"].includes(object.kind) || isStatusAwaited(object.kind, watches)) {
      return undefined;
    }
    // These casts are safe: the API server has validated what it stores.
    const sandbox = object.kind === "Sandbox" ? object as Sandbox : byClaim.get(object.metadata.uid ?? "");
    const pod = sandbox && podsByName.get(keyOf(sandbox));
    const before = known.current.get(object);
    const isValid = before?.sandbox === sandbox && before?.pod === pod;
    if (before && isValid && Math.abs(now.getTime() - before.at) < VALID_MS[before.status.tone]) return before.status;
    const status = compute(object, sandbox, pod, now);
    known.current.set(object, { sandbox, pod, at: now.getTime(), status });
    return status;
  };
}

function compute(object: KubeObject, sandbox: Sandbox | undefined, pod: PodFact | undefined, now: Date): Status {
  if (object.kind === "SandboxWarmPool") return poolStatus(object as SandboxWarmPool, now);
  if (object.kind === "SandboxClaim") return claimStatus(object as SandboxClaim, sandbox, pod, now);
  return sandboxStatus(object as Sandbox, pod, now);
}

function keyOf({ metadata: { namespace, name } }: Pick<KubeObject, "metadata">): string {
  return `${namespace}/${name}`;
}

interface StatusCountsProps {
  counts: StatusCount[];
  /** Statuses whose rows are shown; empty: all. */
  selected: readonly string[];
  onSelect(statuses: readonly string[]): void;
}

/** Buttons that count the rows of each status; a click shows only these rows, a click on another one also its rows. */
export function StatusCounts({ counts, selected, onSelect }: StatusCountsProps) {
  const without = (name: string) => selected.filter((one) => one !== name);
  return (
    <div class="counts" role="group" aria-label="Statuses">
      {counts.map(({ name, tone, count }) => (
        <button
          key={name}
          type="button"
          class={tone}
          aria-pressed={selected.includes(name)}
          onClick={() => onSelect(selected.includes(name) ? without(name) : [...selected, name])}
        >
          <ToneIcon tone={tone} /> {name} <b>{count}</b>
        </button>
      ))}
    </div>
  );
}

/** Shows a status with its icon and colour. */
export function StatusMark({ status: { name, tone, note } }: { status: Status }) {
  return (
    <span class={`status ${tone}`}>
      <ToneIcon tone={tone} />
      <b>{name}</b>
      {note !== undefined && <span class="note">({note})</span>}
    </span>
  );
}

/** Icons differ in shape, for people who do not see the colours. */
function ToneIcon({ tone }: { tone: Tone }) {
  return (
    <svg class={`tone ${tone}`} viewBox="0 0 16 16" aria-hidden="true">
      {tone === "good" && <path d="M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1Zm3.6 4.3L7 9.9 4.4 7.3 3.3 8.4 7 12.1l5.7-5.7Z" />}
      {tone === "progress" && <path d="M8 1a7 7 0 1 1-7 7h2a5 5 0 1 0 5-5Zm-1 3h2v3.6l2.4 2.4-1.4 1.4L7 8.4Z" />}
      {tone === "bad" && <path d="M8 1 16 15H0ZM7 6v4.5h2V6Zm0 5.7v1.8h2v-1.8Z" />}
      {tone === "off" && <path d="M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1Zm0 2a5 5 0 1 0 0 10A5 5 0 0 0 8 3ZM5 7h6v2H5Z" />}
    </svg>
  );
}
