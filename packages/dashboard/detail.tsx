/** The panel of one object: what it is, actions, the reason for its state, its history, its inside and its YAML. @module */
import type { V1Container } from "@kubernetes/client-node";
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { stringify } from "yaml";
import type { EventFact, PodFact } from "../api/diagnosis/facts.ts";
import type { Finding } from "../api/diagnosis/finding.ts";
import { why } from "../api/diagnosis/why.ts";
import { podNameOf } from "../api/objects/names.ts";
import { controllerOf, type KubeObject } from "../api/objects/objects.ts";
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import { type Api, isOk, messageOf } from "../kube/api.ts";
import { createFactReader } from "../sdk/control/factreader.ts";
import { readFacts } from "../sdk/control/facts.ts";
import { humanDuration } from "../summary/age.ts";
import { sandboxStatus, type Status } from "../summary/status.ts";
import { Actions } from "./actions.tsx";
import { Files } from "./files.tsx";
import { History, type PoolWatches } from "./history.tsx";
import { Terminals } from "./inside.tsx";
import { Log } from "./log.tsx";
import { type ContainerUsage, Overview, type Related, statusOf } from "./overview.tsx";
import { Copy, Fold, ObjectLink, Panel, Trouble, WithCommands } from "./parts.tsx";
import { Ports } from "./ports.tsx";
import type { ListedKind } from "./route.ts";
import type { Session } from "./session.ts";
import { POLL_MS, useClock, useCollection, usePolled } from "./state.ts";
import { StatusMark } from "./status.tsx";
import { type Moment, stepsOf, timelineOf } from "./timeline.ts";

/** How often Events, Pods and volumes are read again while the object starts or ends, in milliseconds. */
const SOON_MS = 1000;

/** The object that the panel shows, and what it needs for that. */
interface DetailProps {
  session: Session;
  list: ListedKind;
  open: { namespace: string; name: string };
  watches: PoolWatches;
  onClose(): void;
}

/** The panel for the open object. */
export function Detail({ session, list, open, watches, onClose }: DetailProps) {
  const { api } = session;
  const { namespace, name } = open;
  const { objects, isListed, trouble } = useCollection(api, list, namespace, name);
  const object = objects.find(({ metadata }) => metadata.name === name);
  const version = object?.metadata.resourceVersion;
  const now = useClock();
  const tone = useRef<Status["tone"] | undefined>(undefined);
  const pause = () => tone.current === "progress" ? SOON_MS : POLL_MS;
  const finding = usePolled<Finding>(() => findingOf(api, list, open), [api, version], pause);
  const around = usePolled<Around>(() => object ? readAround(api, object) : Promise.resolve(undefined), [
    api,
    version,
  ], pause);
  const related: Related = around ?? {};
  const status = object && statusOf(object, related, now);
  tone.current = status?.tone;
  const sandbox = object && sandboxOf(object);
  const inside = sandbox === undefined ? undefined : { token: session.token, namespace, sandbox };
  const stopped = around && stoppedText(status, around);
  return (
    <Panel name={name} kind={`${list.kind} in ${namespace}`} onClose={onClose}>
      <Trouble text={trouble} />
      {isListed && !object && <p role="alert" class="whole">It no longer exists.</p>}
      {object && <Overview object={object} related={related} now={now} />}
      {object && <Actions api={api} object={object} related={related} sandboxes={watches.sandboxes} />}
      {sandbox !== undefined || list.kind === "SandboxClaim"
        ? status?.tone === "progress" && <Steps {...related} />
        : null}
      {object && finding && <Why finding={finding} status={status} />}
      {object && list.kind === "SandboxWarmPool" && (
        <>
          <Members pool={object as SandboxWarmPool} sandboxes={watches.sandboxes.objects as Sandbox[]} now={now} />
          <History pool={object} watches={watches} />
        </>
      )}
      {around && around.moments.length > 0 && <Timeline moments={around.moments} />}
      {inside && (
        <>
          <Fold title="Log">
            <Log session={session} namespace={namespace} pod={related.pod} name={inside.sandbox} />
          </Fold>
          <Fold title="Files">
            <IfRunning stopped={stopped}>
              <Files {...inside} />
            </IfRunning>
          </Fold>
          <Fold title="Terminal">
            <IfRunning stopped={stopped}>
              <Terminals {...inside} />
            </IfRunning>
          </Fold>
          <Fold title="Ports">
            <IfRunning stopped={stopped}>
              <Ports {...inside} known={portsOf(related)} previews={session.previews} />
            </IfRunning>
          </Fold>
        </>
      )}
      {object && (
        <Fold title="YAML">
          <Yaml object={object} />
        </Fold>
      )}
    </Panel>
  );
}

/** Says why nothing can be opened in a sandbox; undefined: it may run, or it is suspended and a request resumes it. */
function stoppedText(status: Status | undefined, { pod }: Related): string | undefined {
  if (status === undefined || status.name === "Suspended") return undefined;
  if (status.tone === "good" || status.tone === "progress") return undefined;
  if (pod?.status?.containerStatuses?.some(({ state }) => state?.running)) return undefined;
  return `The sandbox does not run (${status.name}). ${status.detail ?? ""}`.trim();
}

/** Contents that need a running sandbox. What is shown stays if the sandbox stops: it may have unsaved changes. */
function IfRunning({ stopped, children }: { stopped: string | undefined; children: ComponentChildren }) {
  const hasRun = useRef(false);
  hasRun.current ||= stopped === undefined;
  return (
    <>
      {stopped && <p role="status">{stopped}</p>}
      {hasRun.current && children}
    </>
  );
}

/** Returns an object as YAML, without `managedFields`. Pure. */
export function yamlOf({ apiVersion, kind, metadata: { managedFields: _, ...metadata }, ...rest }: KubeObject): string {
  return stringify({ apiVersion, kind, metadata, ...rest }, { lineWidth: 0, aliasDuplicateObjects: false });
}

function Yaml({ object }: { object: KubeObject }) {
  const text = yamlOf(object);
  return (
    <>
      <p class="actions">
        <Copy text={text} what="the YAML" />
      </p>
      <pre class="yaml" tabIndex={0}>{text}</pre>
    </>
  );
}

function Why(
  { finding: { isOk, code, summary, evidence, remedy, chain }, status }: {
    finding: Finding;
    status: Status | undefined;
  },
) {
  const tone = isOk ? "good" : status === undefined || status.tone === "good" ? "bad" : status.tone;
  return (
    <section aria-label="Why" class="why">
      <h3>{tone === "bad" ? "Why" : "State"}</h3>
      <p class={tone}>
        <b>{code}</b>: <WithCommands text={summary} />
      </p>
      {!isOk && (
        <p>
          <WithCommands text={code === "Suspended" ? "Resume it with the button Resume above." : remedy} />
        </p>
      )}
      {!isOk && evidence.length > 0 && (
        <dl>
          {evidence.map(({ object, where, text }) => (
            <div key={`${object.kind}/${object.name} ${where}`}>
              <dt>
                <ObjectLink of={object}>{object.kind}/{object.name}</ObjectLink> {where}
              </dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
      )}
      {chain.length > 1 && (
        <p class="chain">
          {chain.map((one, index) => (
            <span key={`${one.kind}/${one.name}`}>
              {index > 0 && " → "}
              <ObjectLink of={one}>{one.kind}/{one.name}</ObjectLink>
            </span>
          ))}
        </p>
      )}
    </section>
  );
}

/** How far a sandbox is on its way to Ready. */
function Steps(related: Related) {
  return (
    <ol class="steps" aria-label="Progress">
      {stepsOf(related).map(({ what, isDone }) => (
        <li key={what} class={isDone ? "done" : ""}>
          <span aria-hidden="true">{isDone ? "✓" : "○"}</span> {what}
          {!isDone && <span class="unseen">: not yet</span>}
        </li>
      ))}
    </ol>
  );
}

/** Most members that are listed: the list of Sandboxes shows all of them. */
const MOST_MEMBERS = 50;

function Members({ pool, sandboxes, now }: { pool: SandboxWarmPool; sandboxes: readonly Sandbox[]; now: Date }) {
  const members = sandboxes.filter(({ metadata }) => controllerOf(metadata)?.uid === pool.metadata.uid);
  if (members.length === 0) return null;
  return (
    <section aria-label="Members">
      <h3>Sandboxes that no claim uses yet</h3>
      <ul class="members">
        {members.slice(0, MOST_MEMBERS).map((member) => {
          const status = sandboxStatus(member, undefined, now);
          const { namespace = "", name, uid } = member.metadata;
          return (
            <li key={uid}>
              <ObjectLink of={{ kind: "Sandbox", namespace, name }} /> <StatusMark status={status} />
            </li>
          );
        })}
      </ul>
      {members.length > MOST_MEMBERS && <p class="faint">And {members.length - MOST_MEMBERS} more.</p>}
    </section>
  );
}

/** Entries of the timeline that are shown at first: the sections below it stay in view. */
const LAST_MOMENTS = 5;

function Timeline({ moments }: { moments: Moment[] }) {
  const begin = Date.parse(moments[0]?.at ?? "");
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? moments : moments.slice(-LAST_MOMENTS);
  return (
    <section aria-label="Timeline">
      <h3>Timeline</h3>
      <ol class="timeline">
        {shown.map(({ at, what, kind, detail, isTrouble }) => (
          <li key={`${at} ${kind} ${what} ${detail}`} class={isTrouble ? "bad" : ""}>
            <time dateTime={at} title={new Date(at).toLocaleString()}>+{humanDuration(Date.parse(at) - begin)}</time>
            <span>
              <b>{what}</b> {!what.includes(kind) && <span class="faint">{kind}</span>} {detail}
            </span>
          </li>
        ))}
      </ol>
      {moments.length > LAST_MOMENTS && (
        <button
          type="button"
          aria-expanded={isWhole}
          onClick={() => setWhole(!isWhole)}
        >
          {isWhole ? `Show the last ${LAST_MOMENTS}` : `Show all ${moments.length}`}
        </button>
      )}
    </section>
  );
}

/** Returns the Sandbox that has files, terminals and ports; undefined: there is none. */
function sandboxOf({ kind, metadata, ...object }: KubeObject): string | undefined {
  if (kind === "Sandbox") return metadata.name;
  if (kind !== "SandboxClaim") return undefined;
  return (object["status"] as { sandbox?: { name?: string } } | undefined)?.sandbox?.name;
}

async function findingOf(
  api: Api,
  { kind }: ListedKind,
  { namespace, name }: DetailProps["open"],
): Promise<Finding | undefined> {
  // The page may not read NetworkPolicies, so that it cannot judge a template.
  if (kind === "SandboxTemplate") return undefined;
  return why(await readFacts(decisive(api), { kind, namespace, name }), new Date());
}

/** Lists the ports that the containers of a Pod declare. */
function portsOf({ pod, sandbox }: Related): { port: number; name: string | undefined }[] {
  const { containers = [] } = (pod?.spec ?? sandbox?.spec.podTemplate.spec ?? {}) as { containers?: V1Container[] };
  return containers.flatMap(({ ports = [] }) =>
    ports.map(({ containerPort, name }) => ({ port: containerPort, name }))
  );
}

/** The objects that belong to the open one, and what happened to them. */
interface Around extends Related {
  moments: Moment[];
}

/** Reads the objects that belong to the open one, and their Events. */
async function readAround(api: Api, object: KubeObject): Promise<Around> {
  const reader = createFactReader(decisive(api));
  const { namespace = "", name } = object.metadata;
  const one = async <T extends unknown>(resource: "sandboxclaims" | "sandboxes" | "pods", which: string) =>
    await reader.one<T>({ resource, namespace, name: which }) ?? undefined;
  if (object.kind === "SandboxTemplate" || object.kind === "SandboxWarmPool") {
    const [events, pools = []] = await Promise.all([
      reader.events(namespace, name),
      object.kind === "SandboxTemplate"
        ? reader.list<SandboxWarmPool>({ resource: "sandboxwarmpools", namespace })
        : undefined,
    ]);
    const users = pools.filter(({ spec }) => spec.sandboxTemplateRef.name === name);
    return { pools: users, moments: timelineOf({ other: object, events }) };
  }
  const sandboxName = sandboxOf(object);
  const owner = controllerOf(object.metadata);
  const claimName = object.kind === "SandboxClaim" ? name : owner?.kind === "SandboxClaim" ? owner.name : undefined;
  const podName = object.kind === "Sandbox" ? podNameOf(object) : sandboxName;
  const names = new Set([sandboxName, podName, claimName].filter((one) => one !== undefined));
  const [claim, sandbox, pod, usage, ...events] = await Promise.all([
    claimName === undefined ? undefined : one<SandboxClaim>("sandboxclaims", claimName),
    sandboxName === undefined ? undefined : one<Sandbox>("sandboxes", sandboxName),
    podName === undefined ? undefined : one<PodFact>("pods", podName),
    podName === undefined ? undefined : usageOf(api, namespace, podName),
    ...[...names].map((each) => reader.events(namespace, each)),
  ]);
  const moments = timelineOf({ claim, sandbox, pod, events: (events as EventFact[][]).flat() });
  return { claim, sandbox, pod, usage, moments };
}

/**
 * Returns the API server with an error in place of each answer that says nothing about the objects. Otherwise, an
 * overloaded router or API server would look like missing objects and rights.
 */
function decisive(api: Api): Api {
  return {
    ...api,
    async send(request) {
      const answer = await api.send(request);
      if (answer.status >= 500 || answer.status === 429) throw new Error(messageOf(answer));
      return answer;
    },
  };
}

/** Whether the cluster has the metrics API, by connection. */
const metricsApis = new WeakMap<Api, Promise<boolean>>();

/** Reads what the containers of a Pod use; undefined: there are no metrics of it, or the user may not read them. */
async function usageOf(api: Api, namespace: string, pod: string): Promise<ContainerUsage[] | undefined> {
  if (!metricsApis.has(api)) metricsApis.set(api, hasMetrics(api));
  if (!await metricsApis.get(api)) return undefined;
  const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods/${pod}`;
  const answer = await api.send({ method: "GET", path });
  if (answer.status === 403) metricsApis.set(api, Promise.resolve(false));
  return isOk(answer) ? (answer.body as { containers?: ContainerUsage[] }).containers : undefined;
}

async function hasMetrics(api: Api): Promise<boolean> {
  const answer = await api.send({ method: "GET", path: "/apis" }).catch(() => undefined);
  const { groups = [] } = (answer?.body ?? {}) as { groups?: { name: string }[] };
  return groups.some(({ name }) => name === "metrics.k8s.io");
}
