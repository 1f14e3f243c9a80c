/** `hookbox describe`: shows one claim, Sandbox, pool or template with what belongs to it, and why it is in its state. @module */
import type { Command } from "commander";
import type { PodFact, Subject } from "../../api/diagnosis/facts.ts";
import type { Finding } from "../../api/diagnosis/finding.ts";
import { lifetimeOf } from "../../api/expiry.ts";
import type { Condition } from "../../api/objects/conditions.ts";
import { POD_NAME_ANNOTATION, TEMPLATE_REF_ANNOTATION } from "../../api/objects/keys.ts";
import { controllerOf, type KubeObject } from "../../api/objects/objects.ts";
import { ACTIVE_ANNOTATION, IDLE_ANNOTATION, WOKEN_AT_ANNOTATION } from "../../api/router/protocol.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import { lateContents } from "../../api/claims/latebinding.ts";
import type { SandboxClaim } from "../../api/sandboxclaim.ts";
import type { SandboxTemplate } from "../../api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../../api/sandboxwarmpool.ts";
import { type Api, isOk, pathOf } from "../../kube/api.ts";
import { explain } from "../../sdk/control/facts.ts";
import { ageOf, untilOf } from "../../summary/age.ts";
import { type Around, statusOf } from "../../summary/columns.ts";
import { CLAIM, findKind, type Kind, KINDS, POOL, SANDBOX } from "../../summary/kinds.ts";
import { type Status, statusText } from "../../summary/status.ts";
import { getObject } from "../cluster.ts";
import type { CommandContext } from "../commandcontext.ts";
import { Failure, UsageError } from "../failure.ts";
import { optionsOf, withCluster } from "../options.ts";
import { formatOf, renderTable, serialize } from "../output.ts";
import { createPaint, drawn, oneLine, type Paint } from "../terminal.ts";
import { createEventTable, type Event, listEvents } from "./events.ts";

const MORE = `
A name without a kind means a claim, else a Sandbox, else a pool, else a template. -o json has the object, its STATUS as
in "hookbox get", the finding of "hookbox why", the Sandbox and the Pod if there are some, and the Events.

Examples:
  hookbox describe session
  hookbox describe pool/python
  hookbox describe session -o json`;

export function defineDescribe(command: Command, context: CommandContext): void {
  command
    .argument("<name>", "name, claim/name, sandbox/name, pool/name or template/name")
    .argument("[name]", "name, if the first argument is a kind")
    .option("-o, --output <format>", "json or yaml")
    .option("--no-events", "leave out the Events")
    .addHelpText("after", MORE)
    .action(async (first: string, second: string | undefined) => {
      const options = optionsOf<{ output?: string; events: boolean }>(command);
      const format = formatOf(options.output, ["json", "yaml"]);
      const { api, namespace } = await context.connectCluster(options);
      const found = await findObject(api, namespace, second === undefined ? first : `${first}/${second}`);
      const described = await describe(api, found, options.events, nowOf(api, context), context.signal);
      if (format === "json" || format === "yaml") return context.stdout.write(await serialize(described, format));
      context.stdout.write(drawn(renderDescription(context, described, found.kind, nowOf(api, context))));
    });
  withCluster(command);
}

function nowOf(api: Api, context: CommandContext): Date {
  return new Date(api.now?.() ?? context.now());
}

interface Found {
  kind: Kind;
  object: KubeObject;
}

/** @throws {Failure} if there is no such object */
async function findObject(api: Api, namespace: string, text: string): Promise<Found> {
  const [first = "", second, ...more] = text.split("/");
  const kind = second === undefined ? undefined : findKind(first);
  if (more.length > 0 || second === "" || (second !== undefined && !kind)) {
    throw new UsageError(`Cannot describe "${text}": write a name, or kind/name such as claim/session`);
  }
  if (kind) return { kind, object: await getObject(api, kind, namespace, second ?? "") };
  for (const kind of [CLAIM, SANDBOX, ...KINDS.slice(2)]) {
    const answer = await api.send({ method: "GET", path: pathOf({ resource: kind.resource, namespace, name: first }) });
    if (isOk(answer)) return { kind, object: answer.body as KubeObject };
    // For the message about the missing right, or about the CRD.
    if (answer.status !== 404 || kind === CLAIM && !isAboutObject(answer.body)) {
      return { kind, object: await getObject(api, kind, namespace, first) };
    }
  }
  throw new Failure(
    `Cannot describe ${first}: there is no claim, Sandbox, pool or template of that name in namespace ${namespace}`,
    "`hookbox get claims` lists the claims.",
  );
}

/** A Status that names an object means that the object is missing; another one, that the resource is. */
function isAboutObject(body: unknown): boolean {
  const { details, message = "" } = (body ?? {}) as { details?: { name?: string }; message?: string };
  return details?.name !== undefined || !message.includes("could not find the requested resource");
}

/** What is known about an object. */
interface Description {
  object: KubeObject;
  /** Absent for templates. */
  status?: Status;
  finding: Finding;
  sandbox?: Sandbox;
  pod?: PodFact;
  events?: Event[];
}

async function describe(
  api: Api,
  { kind: { kind }, object }: Found,
  withEvents: boolean,
  now: Date,
  signal: AbortSignal,
): Promise<Description> {
  const { namespace = "default", name } = object.metadata;
  const get = async <T>(resource: "sandboxes" | "pods", name: string | undefined): Promise<T | undefined> => {
    if (name === undefined) return undefined;
    const answer = await api.send({ method: "GET", path: pathOf({ resource, namespace, name }), signal });
    return isOk(answer) ? answer.body as T : undefined;
  };
  const subject: Subject = { kind, namespace, name };
  const bound = kind === "SandboxClaim" ? (object as SandboxClaim).status?.sandbox?.name : undefined;
  const sandboxName = kind === "Sandbox" ? name : bound;
  const sandbox = kind === "Sandbox" ? object as Sandbox : await get<Sandbox>("sandboxes", bound);
  const podName = sandbox?.metadata.annotations?.[POD_NAME_ANNOTATION] ?? sandboxName;
  const about = [...new Set([name, sandboxName, podName].filter((one) => one !== undefined))];
  const [finding, pod, ...events] = await Promise.all([
    explain(api, subject, signal),
    get<PodFact>("pods", podName),
    ...withEvents ? about.map((one) => eventsOf(api, namespace, one)) : [],
  ]);
  const around: Around = { sandbox, pod };
  const status = statusOf(kind, object, now, around);
  const seen = [kind, ...sandboxName === undefined ? [] : ["Sandbox", "Pod"]];
  return {
    object,
    ...status ? { status } : {},
    finding,
    ...kind !== "Sandbox" && sandbox ? { sandbox: { ...sandbox, kind: "Sandbox" } } : {},
    ...pod ? { pod } : {},
    ...withEvents
      ? { events: events.flat().filter(({ involvedObject }) => seen.includes(involvedObject.kind ?? "")) }
      : {},
  };
}

/** Returns none if they cannot be read, because the rest is useful, too. */
async function eventsOf(api: Api, namespace: string, name: string): Promise<Event[]> {
  return await listEvents(api, namespace, { fieldSelector: `involvedObject.name=${name}` }).catch(() => []);
}

type Line = [head: string, text: string | undefined];

function renderDescription(context: CommandContext, described: Description, kind: Kind, now: Date): string {
  const { object, status, finding, events } = described;
  const paint = createPaint(context.stdout, context);
  const { name, namespace, labels, creationTimestamp } = object.metadata;
  const tones = { good: "green", progress: "yellow", bad: "red", off: "dim" } as const;
  const lines: Line[] = [
    ["Name", name],
    ["Namespace", namespace],
    ["Kind", kind.kind],
    ["Status", status && paint(tones[status.tone], statusText(status))],
    ...linesOf(described, kind, now),
    ["Age", `${ageOf(creationTimestamp, now)} (created ${creationTimestamp})`],
    ["Labels", Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`).sort().join("\n")],
  ];
  const conditions = (object as Sandbox).status?.conditions ?? [];
  return [
    ...lines.flatMap(([head, text]) => text ? [field(paint, head, text)] : []),
    ...finding.isOk ? [] : ["", ...whyLines(paint, finding)],
    ...conditions.length > 0 ? ["", paint("bold", "Conditions:"), indented(conditionTable(conditions, now))] : [],
    ...events && events.length > 0
      ? ["", paint("bold", "Events:"), indented(createEventTable(context, false)(events, now))]
      : [],
    "",
  ].join("\n");
}

const HEAD = 14;

/** More lines of a text begin below the first one. */
function field(paint: Paint, head: string, text: string): string {
  return `${paint("bold", `${head}:`.padEnd(HEAD))}${text.replaceAll("\n", `\n${" ".repeat(HEAD)}`)}`;
}

function indented(text: string): string {
  return text.trimEnd().replace(/^/gm, "  ");
}

function whyLines(paint: Paint, { code, summary, remedy, evidence }: Finding): string[] {
  return [
    field(paint, "Why", `${code}: ${oneLine(summary)}`),
    ...evidence.slice(0, 1).map(({ text }) => field(paint, "Evidence", oneLine(text.trim()))),
    field(paint, "Do", oneLine(remedy)),
  ];
}

function conditionTable(conditions: readonly Condition[], now: Date): string {
  return renderTable(
    ["TYPE", "STATUS", "REASON", "SINCE", "MESSAGE"],
    conditions.map(({ type, status, reason, lastTransitionTime, message }) => [
      type,
      status,
      reason,
      ageOf(lastTransitionTime, now),
      message.trim(),
    ]),
  );
}

function linesOf({ object, sandbox, pod }: Description, { kind }: Kind, now: Date): Line[] {
  switch (kind) {
    case "SandboxClaim": {
      const { spec, status } = object as SandboxClaim;
      const contents = lateContents(object as SandboxClaim);
      const late = typeof contents === "string" ? undefined : contents;
      return [
        ["Sandbox", status?.sandbox?.name],
        ["Pool", spec.warmPoolRef.name],
        ...sandbox ? sandboxLines(sandbox, pod, now) : [],
        ["Expires", untilOf(spec.lifecycle?.shutdownTime, now)],
        ["Variables", [...spec.env ?? [], ...late?.env ?? []].map(({ name }) => name).join(", ") || undefined],
        ["Files", late?.files.map(({ name }) => name).join(", ") || undefined],
        ["Starts", late?.start],
      ];
    }
    case "Sandbox": {
      const owner = controllerOf(object.metadata);
      return [
        ["Claim", owner?.kind === "SandboxClaim" ? owner.name : undefined],
        ["Pool", owner?.kind === POOL.kind ? owner.name : undefined],
        ...sandboxLines(object as Sandbox, pod, now),
        ["Expires", untilOf(lifetimeOf(object as Sandbox).shutdownTime, now)],
      ];
    }
    case "SandboxWarmPool": {
      const { spec, status } = object as SandboxWarmPool;
      return [
        ["Ready", `${status?.readyReplicas ?? 0} of ${spec.replicas}`],
        ["Template", spec.sandboxTemplateRef.name],
        ["Updates", spec.updateStrategy?.type ?? "OnReplenish"],
      ];
    }
    case "SandboxTemplate": {
      const { spec } = object as SandboxTemplate;
      return [
        ["Containers", containerLines(spec.podTemplate.spec, undefined)],
        ["Runtime", spec.podTemplate.spec.runtimeClassName],
        ["Variables", spec.envVarsInjectionPolicy && `${spec.envVarsInjectionPolicy} for claims`],
        ["Network", spec.networkPolicyManagement === "Unmanaged" ? "Unmanaged" : "NetworkPolicy by hookbox"],
      ];
    }
  }
}

function sandboxLines(
  { metadata: { annotations = {} }, spec, status }: Sandbox,
  pod: PodFact | undefined,
  now: Date,
): Line[] {
  const idle = annotations[IDLE_ANNOTATION];
  const [active] = (annotations[ACTIVE_ANNOTATION] ?? "").split(" ");
  const used = [active, annotations[WOKEN_AT_ANNOTATION]].filter((time) => time).sort().at(-1);
  return [
    ["Template", annotations[TEMPLATE_REF_ANNOTATION]],
    ["Containers", containerLines(spec.podTemplate.spec, pod)],
    ["Node", status?.nodeName],
    ["Addresses", status?.podIPs?.join(", ")],
    ["Service", status?.serviceFQDN],
    ["Last use", used === undefined ? undefined : `${ageOf(used, now)} ago (through a router)`],
    ["Idle timeout", idle === undefined ? undefined : `${idle} s`],
  ];
}

interface ContainerSpec {
  name: string;
  image?: string | undefined;
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> } | undefined;
}

/** One line for each container: image, restarts, requests and limits. */
function containerLines({ containers }: { containers: readonly object[] }, pod: PodFact | undefined): string {
  return (containers as readonly ContainerSpec[]).map(({ name, image = "", resources }) => {
    const restarts = pod?.status?.containerStatuses?.find((one) => one.name === name)?.restartCount;
    const amounts = (what: string, values: Record<string, string> = {}) => {
      const text = Object.entries(values).map(([resource, amount]) => `${resource} ${amount}`).join(", ");
      return text === "" ? [] : [`${what} ${text}`];
    };
    const details = [
      ...restarts === undefined ? [] : [restarts === 1 ? "1 restart" : `${restarts} restarts`],
      ...amounts("requests", resources?.requests),
      ...amounts("limits", resources?.limits),
    ];
    return `${name}: ${image}${details.length > 0 ? ` (${details.join("; ")})` : ""}`;
  }).join("\n");
}
