/** The top of the panel: what an object is, which objects belong to it, where it runs, and what it uses. @module */
import type { V1Container, V1PodSpec } from "@kubernetes/client-node";
import type { ObjectRef } from "../api/diagnosis/finding.ts";
import type { ContainerFact, PodFact } from "../api/diagnosis/facts.ts";
import { expiryTime, lifetimeOf } from "../api/expiry.ts";
import { TEMPLATE_REF_ANNOTATION } from "../api/objects/keys.ts";
import { controllerOf, type KubeObject } from "../api/objects/objects.ts";
import { quantity } from "../api/objects/quantity.ts";
import { ACTIVE_ANNOTATION } from "../api/router/protocol.ts";
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import { ageOf, humanDuration, untilOf } from "../summary/age.ts";
import { claimStatus, poolStatus, sandboxStatus, type Status } from "../summary/status.ts";
import { Copy, ObjectLink } from "./parts.tsx";
import { StatusMark } from "./status.tsx";

/** The objects that belong to the open one; undefined: there is none, or it could not be read. */
export interface Related {
  claim?: SandboxClaim | undefined;
  sandbox?: Sandbox | undefined;
  pod?: PodFact | undefined;
  /** Pools of the open template. */
  pools?: SandboxWarmPool[] | undefined;
  /** What the containers use now, from the metrics API; undefined: the cluster has no metrics of this Pod. */
  usage?: ContainerUsage[] | undefined;
}

/** One container in an answer of the metrics API. */
export interface ContainerUsage {
  name: string;
  usage: { cpu?: string; memory?: string };
}

/** One line: a label, and one or more values. */
export interface Fact {
  label: string;
  values: { text: string; of?: ObjectRef; title?: string; isCopied?: boolean }[];
}

/** Returns the STATUS of an object, as lists show it; undefined: its kind has none. Pure. */
export function statusOf(object: KubeObject, { sandbox, pod }: Related, now: Date): Status | undefined {
  // These casts are safe: the API server has validated what it stores.
  if (object.kind === "Sandbox") return sandboxStatus(object as Sandbox, pod, now);
  if (object.kind === "SandboxClaim") return claimStatus(object as SandboxClaim, sandbox, pod, now);
  if (object.kind === "SandboxWarmPool") return poolStatus(object as SandboxWarmPool, now);
  return undefined;
}

/** Lists the facts of an object in the order in which people look for them. Facts that are not known are left out. Pure. */
export function factsOf(object: KubeObject, related: Related, now: Date): Fact[] {
  const facts = object.kind === "SandboxTemplate"
    ? templateFacts(object as unknown as SandboxTemplate, related)
    : object.kind === "SandboxWarmPool"
    ? poolFacts(object as SandboxWarmPool)
    : sandboxFacts(object, related, now);
  const { creationTimestamp, labels = {} } = object.metadata;
  const age = withTitle(fact("Age", ageOf(creationTimestamp, now)), creationTimestamp);
  const all = [...facts, age, fact("Labels", ...Object.entries(labels).map(([key, value]) => `${key}=${value}`))];
  return all.map((one) => ({ ...one, values: one.values.filter(({ text }) => text !== "") }))
    .filter(({ values }) => values.length > 0);
}

function sandboxFacts(object: KubeObject, { claim, sandbox, pod, usage }: Related, now: Date): Fact[] {
  const namespace = object.metadata.namespace ?? "";
  const ref = (kind: string, name: string | undefined) => reference(kind, namespace, name);
  const isClaim = object.kind === "SandboxClaim";
  const own = isClaim ? sandbox : object as Sandbox;
  const owner = own && controllerOf(own.metadata);
  const claimed = isClaim ? object as SandboxClaim : claim;
  const pool = claimed?.spec.warmPoolRef.name ?? (owner?.kind === "SandboxWarmPool" ? owner.name : undefined);
  const spec = pod?.spec ?? own?.spec.podTemplate.spec;
  const expiry = isClaim ? timeText(expiryTime(object as SandboxClaim)) : own && lifetimeOf(own).shutdownTime;
  const active = own?.metadata.annotations?.[ACTIVE_ANNOTATION]?.split(" ")[0];
  const containers = (spec as { containers?: V1Container[] } | undefined)?.containers ?? [];
  return [
    fact("Image", ...images(containers)),
    ...isClaim ? [ref("Sandbox", own?.metadata.name ?? (object as SandboxClaim).status?.sandbox?.name)] : [],
    ...isClaim ? [] : [ref("SandboxClaim", owner?.kind === "SandboxClaim" ? owner.name : undefined)],
    ref("SandboxWarmPool", pool),
    ref("SandboxTemplate", own?.metadata.annotations?.[TEMPLATE_REF_ANNOTATION]),
    fact("Node", pod?.spec?.nodeName ?? own?.status?.nodeName),
    copied(fact("Addresses", ...own?.status?.podIPs ?? [], own?.status?.serviceFQDN)),
    withTitle(fact("Expires", expiry === undefined ? "never" : expiryText(expiry, now)), expiry),
    withTitle(fact("Last use", active === undefined ? undefined : `${ageOf(active, now)} ago`), active),
    fact("Restarts", restartsText(pod, now)),
    fact("Requests", resourcesText(containers.map(({ resources }) => resources?.requests ?? {}))),
    fact("Limits", resourcesText(containers.map(({ resources }) => resources?.limits ?? {}))),
    fact("Uses", usage && resourcesText(usage.map(({ usage }) => usage))),
  ];
}

function poolFacts({ metadata: { namespace = "" }, spec, status }: SandboxWarmPool): Fact[] {
  const { replicas = 1, sandboxTemplateRef, updateStrategy, claimDefaults } = spec;
  const ttl = claimDefaults?.lifecycle?.ttlSecondsAfterFinished;
  return [
    fact("Ready", `${status?.readyReplicas ?? 0} of ${replicas}`),
    reference("SandboxTemplate", namespace, sandboxTemplateRef.name),
    fact("Updates", updateStrategy?.type ?? "OnReplenish"),
    fact("Claims expire", ttl === undefined ? undefined : `${humanDuration(ttl * 1000)} after they have finished`),
  ];
}

function templateFacts({ metadata, spec }: SandboxTemplate, { pools = [] }: Related): Fact[] {
  const { podTemplate, volumeClaimTemplates = [], envVarsInjectionPolicy: env = "Disallowed" } = spec;
  const podSpec = podTemplate.spec as V1PodSpec;
  const users = pools.map((pool) => ({
    text: pool.metadata.name,
    of: { kind: "SandboxWarmPool", namespace: metadata.namespace ?? "", name: pool.metadata.name },
  }));
  return [
    fact("Image", ...images(podSpec.containers)),
    { label: "Pools", values: users },
    fact("Runtime class", podSpec.runtimeClassName),
    fact("Requests", resourcesText(podSpec.containers.map(({ resources }) => resources?.requests ?? {}))),
    fact("Limits", resourcesText(podSpec.containers.map(({ resources }) => resources?.limits ?? {}))),
    fact("Volumes", ...volumeClaimTemplates.map(({ metadata }) => metadata?.name)),
    fact("Variables", { Allowed: "claims may add", Overrides: "claims may add and replace", Disallowed: "fixed" }[env]),
  ];
}

function fact(label: string, ...texts: (string | undefined)[]): Fact {
  return { label, values: texts.flatMap((text) => text ? [{ text }] : []) };
}

const LABELS: Record<string, string> = {
  Sandbox: "Sandbox",
  SandboxClaim: "Claim",
  SandboxWarmPool: "Pool",
  SandboxTemplate: "Template",
};

function reference(kind: string, namespace: string, name: string | undefined): Fact {
  return { label: LABELS[kind] ?? kind, values: name ? [{ text: name, of: { kind, namespace, name } }] : [] };
}

function withTitle(one: Fact, title: string | undefined): Fact {
  return title === undefined ? one : { ...one, values: one.values.map((value) => ({ ...value, title })) };
}

function copied(one: Fact): Fact {
  return { ...one, values: one.values.map((value) => ({ ...value, isCopied: true })) };
}

function timeText(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}

function expiryText(expiry: string, now: Date): string {
  const left = untilOf(expiry, now);
  return left === "expired" ? left : `in ${left}`;
}

/** Lists images, with the container's name if there are several. */
function images(containers: readonly V1Container[]): string[] {
  return containers.map(({ name, image = "" }) => containers.length > 1 && image ? `${image} (${name})` : image);
}

/** Returns how often containers were restarted, and how the last run of one of them ended. */
function restartsText(pod: PodFact | undefined, now: Date): string | undefined {
  const statuses: ContainerFact[] = pod?.status?.containerStatuses ?? [];
  if (statuses.length === 0) return undefined;
  const restarts = statuses.reduce((sum, { restartCount = 0 }) => sum + restartCount, 0);
  const ends = statuses.flatMap(({ lastState }) => lastState?.terminated ?? []);
  const [last] = ends.sort((a, b) => (b.finishedAt ?? "").localeCompare(a.finishedAt ?? ""));
  if (restarts === 0 || last === undefined) return String(restarts);
  const why = last.reason && last.reason !== "Error" ? `${last.reason}, exit code` : "exit code";
  const when = last.finishedAt === undefined ? "" : ` ${ageOf(last.finishedAt, now)} ago`;
  return `${restarts}, last${when}: ${why} ${last.exitCode ?? "unknown"}`;
}

/** Sums CPU and memory of containers: `0.25 CPU, 1.5 GiB`. Empty: none is set. */
function resourcesText(each: readonly { cpu?: string; memory?: string }[]): string {
  const sum = (key: "cpu" | "memory") =>
    each.flatMap((one) => one[key] ?? []).reduce<number | undefined>(
      (all = 0, text) => all + quantity(text),
      undefined,
    );
  const [cpu, memory] = [sum("cpu"), sum("memory")];
  return [
    ...cpu === undefined ? [] : [`${Number(cpu.toPrecision(3))} CPU`],
    ...memory === undefined ? [] : [bytesText(memory)],
  ].join(", ");
}

/** Formats a number of bytes: `512 B`, `1.5 GiB`. */
export function bytesText(bytes: number): string {
  const step = Math.min(4, bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10));
  return `${Number((bytes / 1024 ** step).toPrecision(3))} ${["B", "KiB", "MiB", "GiB", "TiB"][step]}`;
}

/** Shows the status and the facts of an object. */
export function Overview({ object, related, now }: { object: KubeObject; related: Related; now: Date }) {
  const status = statusOf(object, related, now);
  return (
    <section aria-label="Overview" class="overview">
      {status && (
        <p class="headline">
          <StatusMark status={status} />
          {/* If something is wrong, the section "Why" says the same with its evidence. */}
          {status.tone === "good" && status.detail && ` ${status.detail}`}
        </p>
      )}
      <dl class="facts">
        {factsOf(object, related, now).map(({ label, values }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              {values.map(({ text, of, title, isCopied }) => (
                <span key={text} class={label === "Labels" ? "label" : "value"} title={title}>
                  {of ? <ObjectLink of={of} /> : text}
                  {isCopied && <Copy text={text} what={text} />}
                </span>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
