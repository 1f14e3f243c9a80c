/** The panel of a project of E2B's clients: its sandboxes, quota, API keys and pools. It never shows a key's value. @module */
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { ALIASES_ANNOTATION, KEYS_SECRET, type ShownKey } from "../api/e2b/objects.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import type { Api } from "../kube/api.ts";
import { ageOf } from "../summary/age.ts";
import { COUNTED_CLAIMS, type QuotaUse } from "../summary/quotas.ts";
import { poolStatus } from "../summary/status.ts";
import { ObjectLink, Panel, Trouble, WithCommands } from "./parts.tsx";
import {
  countsByProject,
  countsText,
  E2B_CLAIMS,
  isProject,
  type ProjectFacts,
  type Read,
  readFactsOf,
  readNamespace,
} from "./projects.ts";
import { addressOf, KIND_LISTS, listRoute } from "./route.ts";
import { type Collection, POLL_MS, useClock, useCollection, usePolled } from "./state.ts";
import { StatusMark } from "./status.tsx";

const [, CLAIMS, POOLS] = KIND_LISTS;

/** What the panel reads. */
interface ReadProject extends ProjectFacts {
  /** Undefined: there is none. */
  namespace: Read<KubeObject | undefined>;
}

/** The panel for the open project. */
export function ProjectDetail({ api, name, onClose }: { api: Api; name: string; onClose(): void }) {
  const claims = useCollection(api, E2B_CLAIMS, name);
  const pools = useCollection(api, POOLS, name);
  const read = usePolled(() => readProject(api, name), [api, name], () => POLL_MS);
  const now = useClock();
  const namespace = read && "found" in read.namespace ? read.namespace.found : undefined;
  return (
    <Panel name={name} kind="Project of E2B's clients" onClose={onClose}>
      {!read && <p role="status">Loading the project…</p>}
      {read && "reason" in read.namespace && <Trouble text={read.namespace.reason} />}
      {read && "found" in read.namespace && !namespace && <p role="alert">It no longer exists.</p>}
      {namespace && !isProject(namespace) && <p role="alert">Namespace {name} is not a project.</p>}
      {read && (
        <>
          <Sandboxes name={name} claims={claims} namespace={namespace} now={now} />
          <Quotas quotas={read.quotas} />
          <Keys name={name} keys={read.keys} now={now} />
          <Pools pools={pools} now={now} />
        </>
      )}
    </Panel>
  );
}

async function readProject(api: Api, name: string): Promise<ReadProject> {
  const [namespace, facts] = await Promise.all([
    readNamespace(api, name).then((found) => ({ found }), (error) => ({ reason: (error as Error).message })),
    readFactsOf(api, name),
  ]);
  return { namespace, ...facts };
}

interface SandboxesProps {
  name: string;
  claims: Collection;
  namespace: KubeObject | undefined;
  now: Date;
}

function Sandboxes({ name, claims, namespace, now }: SandboxesProps) {
  const counts = useMemo(() => countsByProject(claims.objects), [claims.objects]);
  const { creationTimestamp } = namespace?.metadata ?? {};
  return (
    <section aria-label="Overview" class="overview">
      <dl class="facts">
        <div>
          <dt>Sandboxes</dt>
          <dd>
            {claims.isListed
              ? <a href={addressOf(listRoute(CLAIMS!, name))}>{countsText(counts.get(name))}</a>
              : claims.trouble ?? "…"}
          </dd>
        </div>
        {creationTimestamp !== undefined && (
          <div>
            <dt>Age</dt>
            <dd title={creationTimestamp}>{ageOf(creationTimestamp, now)}</dd>
          </div>
        )}
      </dl>
    </section>
  );
}

function Table({ head, children }: { head: string[]; children: ComponentChildren }) {
  return (
    <table class="plain">
      <thead>
        <tr>{head.map((text) => <th key={text} scope="col">{text}</th>)}</tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}

function Quotas({ quotas }: { quotas: Read<QuotaUse[]> }) {
  return (
    <section aria-label="Quota">
      <h3>Quota</h3>
      {"reason" in quotas
        ? <p>{quotas.reason}</p>
        : quotas.found.length === 0
        ? <p>No quota limits this project.</p>
        : (
          <Table head={["Resource", "Used", "Allowed"]}>
            {quotas.found.map(({ resource, used, hard }) => (
              <tr key={resource}>
                <td title={resource}>{resource === COUNTED_CLAIMS ? "sandboxes" : resource}</td>
                <td>{used ?? "not counted yet"}</td>
                <td>{hard}</td>
              </tr>
            ))}
          </Table>
        )}
    </section>
  );
}

function Keys({ name, keys, now }: { name: string; keys: Read<ShownKey[]>; now: Date }) {
  return (
    <section aria-label="API keys">
      <h3>API keys</h3>
      {"reason" in keys
        ? <p>{keys.reason} An administrator can grant the right to get this one Secret.</p>
        : keys.found.length === 0
        ? <p>There are no API keys.</p>
        : (
          <Table head={["Name", "Rights", "Created", "Last used"]}>
            {keys.found.map((key) => <KeyRow key={key.name} shown={key} now={now} />)}
          </Table>
        )}
      <p>
        <WithCommands text={`To create a key: hookbox project key create ${name} NAME`} />
      </p>
      <p>
        <WithCommands text={`To revoke a key: hookbox project key revoke ${name} NAME`} />
      </p>
      <p class="faint">
        The value of a key is shown once, by the command that creates it. hookbox stores only its hash.
      </p>
    </section>
  );
}

function KeyRow({ shown: { name, rights, createdAt, lastUsedAt }, now }: { shown: ShownKey; now: Date }) {
  if (!rights) {
    return (
      <tr>
        <td>{name}</td>
        <td colSpan={3} title={`Its entry in Secret ${KEYS_SECRET} is damaged. Nobody can use this key.`}>
          not readable
        </td>
      </tr>
    );
  }
  return (
    <tr>
      <td>{name}</td>
      <td>{rights.join(", ") || "none"}</td>
      <td title={createdAt}>{ageOf(createdAt, now)} ago</td>
      <td title={lastUsedAt}>{lastUsedAt === undefined ? "never" : `${ageOf(lastUsedAt, now)} ago`}</td>
    </tr>
  );
}

function Pools({ pools: { objects, isListed, trouble }, now }: { pools: Collection; now: Date }) {
  return (
    <section aria-label="Pools">
      <h3>Pools</h3>
      {!isListed ? <p>{trouble ?? "Loading pools…"}</p> : objects.length === 0 && <p>There are no pools.</p>}
      <ul class="members">
        {/* The cast is safe: the API server has validated what it stores. */}
        {(objects as SandboxWarmPool[]).map((pool) => {
          const { namespace = "", name, uid, annotations = {} } = pool.metadata;
          const aliases = annotations[ALIASES_ANNOTATION];
          return (
            <li key={uid}>
              <ObjectLink of={{ kind: "SandboxWarmPool", namespace, name }} />{" "}
              <StatusMark status={poolStatus(pool, now)} /> {pool.status?.readyReplicas ?? 0} of{" "}
              {pool.spec.replicas ?? 1} ready
              {aliases && <span class="faint">; also named {aliases}</span>}
            </li>
          );
        })}
      </ul>
    </section>
  );
}
