/** The panel of one object: its state with the reason, its history, the log of its container, and actions. @module */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Finding } from "../api/diagnosis/finding.ts";
import { why } from "../api/diagnosis/why.ts";
import { controllerOf, type KubeObject } from "../api/objects/objects.ts";
import { humanDuration } from "../summary/age.ts";
import type { Api } from "../kube/api.ts";
import { createFactReader } from "../sdk/control/factreader.ts";
import { readFacts } from "../sdk/control/facts.ts";
import { Actions } from "./actions.tsx";
import { useCollection } from "./state.ts";
import { History, type PoolWatches } from "./history.tsx";
import { Files, Log, Terminal } from "./inside.tsx";
import type { Listed } from "./route.ts";
import { Ports } from "./ports.tsx";
import type { Session } from "./session.ts";
import { type Moment, timelineOf } from "./timeline.ts";

/** How often Events, Pods and volumes are read again, as no watch shows them, in milliseconds. */
const POLL_MS = 5000;

/** The object that the panel shows, and what it needs for that. */
interface DetailProps {
  session: Session;
  list: Listed;
  open: { namespace: string; name: string };
  watches: PoolWatches;
  onClose(): void;
}

/** The panel for the open object. Escape closes it. */
export function Detail({ session, list, open, watches, onClose }: DetailProps) {
  const { api } = session;
  const { namespace, name } = open;
  const { objects: [object], isListed, trouble } = useCollection(api, list, namespace, name);
  const version = object?.metadata.resourceVersion;
  const finding = usePolled<Finding>(() => findingOf(api, list, open), [api, version]);
  const moments = usePolled<Moment[]>(() => object ? momentsOf(api, object) : Promise.resolve([]), [api, version]);
  const heading = useRef<HTMLHeadingElement>(null);
  // Before the panel is painted, so that all keys from then on go to the panel.
  useLayoutEffect(() => heading.current?.focus(), []);
  const close = ({ key, target }: KeyboardEvent) =>
    key === "Escape" && !(target as Element).closest("dialog") && onClose();
  const sandbox = object && sandboxOf(object);
  return (
    <aside aria-label={name} onKeyDown={close}>
      <div class="bar">
        <h2 ref={heading} tabIndex={-1}>{name}</h2>
        <button type="button" aria-label="Close" onClick={onClose}>×</button>
      </div>
      <p class="kind">{list.kind} in {namespace}</p>
      {trouble && <p role="alert">{trouble}</p>}
      {isListed && !object && <p role="alert">It no longer exists.</p>}
      {object && <Actions api={api} list={list} object={object} />}
      {object && finding && list.kind !== "SandboxTemplate" && <Why finding={finding} />}
      {object && list.kind === "SandboxWarmPool" && <History pool={object} watches={watches} />}
      {object && moments && moments.length > 0 && <Timeline moments={moments} />}
      {sandbox && (
        <>
          <Fold title="Log">
            <Log session={session} namespace={namespace} pod={sandbox} />
          </Fold>
          <Fold title="Files">
            <Files token={session.token} namespace={namespace} sandbox={sandbox} />
          </Fold>
          <Fold title="Terminal">
            <Terminal token={session.token} namespace={namespace} sandbox={sandbox} />
          </Fold>
          <Fold title="Ports">
            <Ports token={session.token} namespace={namespace} sandbox={sandbox} />
          </Fold>
        </>
      )}
      {object && (
        <Fold title="Object">
          <pre>{JSON.stringify(object, undefined, 2)}</pre>
        </Fold>
      )}
    </aside>
  );
}

/** A section whose contents exist only while it is open. */
function Fold({ title, children }: { title: string; children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen && children}
    </details>
  );
}

function Why({ finding: { isOk, code, summary, evidence, remedy, chain } }: { finding: Finding }) {
  return (
    <section aria-label="Why">
      <h3>{isOk ? "State" : "Why"}</h3>
      <p class={isOk ? "ok" : "trouble"}>
        <b>{code}</b>: {summary}
      </p>
      {!isOk && <p>{remedy}</p>}
      {evidence.length > 0 && (
        <dl>
          {evidence.map(({ object, where, text }) => (
            <div key={`${object.kind}/${object.name} ${where}`}>
              <dt>{object.kind}/{object.name} {where}</dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
      )}
      {chain.length > 1 && <p class="chain">{chain.map(({ kind, name }) => `${kind}/${name}`).join(" → ")}</p>}
    </section>
  );
}

function Timeline({ moments }: { moments: Moment[] }) {
  const begin = Date.parse(moments[0]?.at ?? "");
  return (
    <section aria-label="Timeline">
      <h3>Timeline</h3>
      <ol class="timeline">
        {moments.map(({ at, what, detail, isTrouble }) => (
          <li key={`${at} ${what} ${detail}`} class={isTrouble ? "trouble" : ""}>
            <time dateTime={at} title={at}>+{humanDuration(Date.parse(at) - begin)}</time>
            <span>
              <b>{what}</b> {detail}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Returns the Sandbox whose Pod has a log; undefined: there is none. A Pod has the name of its Sandbox. */
function sandboxOf({ kind, metadata, ...object }: KubeObject): string | undefined {
  if (kind === "Sandbox") return metadata.name;
  if (kind !== "SandboxClaim") return undefined;
  return (object["status"] as { sandbox?: { name?: string } } | undefined)?.sandbox?.name;
}

async function findingOf(
  api: Api,
  { kind }: Listed,
  { namespace, name }: DetailProps["open"],
): Promise<Finding | undefined> {
  if (kind === "SandboxTemplate") return undefined;
  return why(await readFacts(api, { kind, namespace, name }), new Date());
}

/** Reads the objects for the timeline. */
async function momentsOf(api: Api, object: KubeObject): Promise<Moment[]> {
  const reader = createFactReader(api);
  const { namespace = "", name } = object.metadata;
  const sandboxName = sandboxOf(object);
  if (sandboxName === undefined) return timelineOf({ events: await reader.events(namespace, name) });
  const owner = controllerOf(object.metadata);
  const claimName = object.kind === "SandboxClaim" ? name : owner?.kind === "SandboxClaim" ? owner.name : undefined;
  const [claim, sandbox, pod, events, claimEvents] = await Promise.all([
    claimName ? reader.one<KubeObject>({ resource: "sandboxclaims", namespace, name: claimName }) : undefined,
    reader.one<KubeObject>({ resource: "sandboxes", namespace, name: sandboxName }),
    reader.one<KubeObject>({ resource: "pods", namespace, name: sandboxName }),
    reader.events(namespace, sandboxName),
    claimName && claimName !== sandboxName ? reader.events(namespace, claimName) : [],
  ]);
  const objects = { claim: claim ?? undefined, sandbox: sandbox ?? undefined, pod: pod ?? undefined };
  return timelineOf({ ...objects, events: [...events, ...claimEvents] });
}

/** Calls `read` after each change, and every five seconds. Returns the last result until there is a new one. */
function usePolled<T>(read: () => Promise<T | undefined>, changes: unknown[]): T | undefined {
  const [result, setResult] = useState<T>();
  useEffect(() => {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout>;
    const poll = async () => {
      // Ignored: the next call may succeed, and the panel's top says if the object is not up to date.
      const found = await read().catch(() => {});
      if (isOver) return;
      if (found !== undefined) setResult(found);
      timer = setTimeout(poll, POLL_MS);
    };
    void poll();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, changes);
  return result;
}
