/** Finds the cause of an object's state, and reads only the objects that this needs. @module */
import { lacksMetadata } from "../../api/keeperreports.ts";
import type {
  Facts,
  LeaseFact,
  NamedFact,
  NodeFact,
  PodFact,
  QuotaFact,
  Subject,
  VolumeClaimFact,
} from "../../api/diagnosis/facts.ts";
import type { Finding } from "../../api/diagnosis/finding.ts";
import { isQuotaExceeded } from "../../api/diagnosis/messages.ts";
import { LONGEST_BACK_OFF_SECONDS } from "../../api/diagnosis/rules/containers.ts";
import { worstMember } from "../../api/diagnosis/sandboxcause.ts";
import { secondsSince } from "../../api/diagnosis/scene.ts";
import { why } from "../../api/diagnosis/why.ts";
import { BINDER_LEASE, SYSTEM_NAMESPACE } from "../../api/installation.ts";
import { findCondition } from "../../api/objects/conditions.ts";
import { WARM_POOL_LABEL } from "../../api/objects/keys.ts";
import { nameHash, podNameOf } from "../../api/objects/names.ts";
import { kubeObjectSchema } from "../../api/objects/schemas.ts";
import { type Sandbox, sandboxSchema } from "../../api/sandbox.ts";
import { sandboxClaimSchema } from "../../api/sandboxclaim.ts";
import { sandboxTemplateSchema } from "../../api/sandboxtemplate.ts";
import { sandboxWarmPoolSchema } from "../../api/sandboxwarmpool.ts";
import { policyName } from "../../api/templatepolicy.ts";
import { type Api, type ObjectPath, timeAt } from "../../kube/api.ts";
import { createFactReader, type FactReader } from "./factreader.ts";

/**
 * Finds out why a claim, a pool, a template or a Sandbox is in its state, at the time of the call.
 *
 * @throws as {@link readFacts}
 */
export async function explain(api: Api, subject: Subject, signal?: AbortSignal): Promise<Finding> {
  // A busy API server may need long for all responses. Compared with the time at their end, the first ones would look
  // overdue.
  const asked = new Date(timeAt(api));
  return why(await readFacts(api, subject, signal, asked), asked);
}

/**
 * Reads the facts about a claim, a pool, a template or a Sandbox, for {@link why}.
 *
 * | object | requests |
 * |---|---|
 * | does not exist, or has been Ready for five minutes | 1 |
 * | has become Ready since then | 3 |
 * | Sandbox | 3, and those for the objects that its Pod refers to |
 * | claim | 4 to 10, and those for the Pod of its Sandbox |
 * | pool | 4, and those of its worst Sandbox |
 * | template | 2 |
 *
 * @param asked time of the diagnosis; for an object that has expired by then, nothing more is read
 * @throws {Error} if the API server does not respond. What it forbids or does not have is listed in the facts
 */
export async function readFacts(
  api: Api,
  subject: Subject,
  signal?: AbortSignal,
  asked = new Date(timeAt(api)),
): Promise<Facts> {
  const reader = createFactReader(api, signal);
  const facts: Facts = { subject };
  const readers = {
    Sandbox: readSandboxFacts,
    SandboxClaim: readClaimFacts,
    SandboxWarmPool: readPoolFacts,
    SandboxTemplate: readTemplateFacts,
  };
  await readers[subject.kind](reader, facts, asked);
  const unreadable = reader.unreadable();
  if (unreadable.length > 0) facts.unreadable = unreadable;
  return facts;
}

async function readClaimFacts(reader: FactReader, facts: Facts, asked: Date): Promise<void> {
  const { namespace, name } = facts.subject;
  set(facts, "claim", await reader.one({ resource: "sandboxclaims", namespace, name }, sandboxClaimSchema));
  const { claim } = facts;
  const ready = findCondition(claim?.status?.conditions, "Ready");
  if (ready && lacksMetadata(ready.message)) facts.events = await reader.events(namespace, name);
  if (!claim || isSettled(facts, asked)) return;
  if (ready?.status === "True" && !lacksMetadata(ready.message)) {
    return await readSandboxAndPod(reader, facts, claim.status?.sandbox?.name ?? name);
  }
  const pool = claim.spec.warmPoolRef.name;
  const isBound = claim.status?.sandbox?.name !== undefined;
  const [poolFound, ...events] = await Promise.all([
    reader.one({ resource: "sandboxwarmpools", namespace, name: pool }, sandboxWarmPoolSchema),
    isBound ? [] : reader.events(namespace, pool),
    readSandboxAndPod(reader, facts, claim.status?.sandbox?.name ?? name),
  ]);
  set(facts, "pool", poolFound);
  facts.events = [...facts.events ?? [], ...events.flatMap((found) => found ?? [])];
  if (poolFound && !isBound) {
    const template = poolFound.spec.sandboxTemplateRef.name;
    await Promise.all([readTemplate(reader, facts, template), readBinder(reader, facts)]);
  }
  await readAround(reader, facts);
}

async function readSandboxFacts(reader: FactReader, facts: Facts, asked: Date): Promise<void> {
  const { namespace, name } = facts.subject;
  set(facts, "sandbox", await reader.one({ resource: "sandboxes", namespace, name }, sandboxSchema));
  if (!facts.sandbox || isSettled(facts, asked)) return;
  await readPod(reader, facts, facts.sandbox);
  await readAround(reader, facts);
}

async function readPoolFacts(reader: FactReader, facts: Facts, asked: Date): Promise<void> {
  const { namespace, name } = facts.subject;
  set(facts, "pool", await reader.one({ resource: "sandboxwarmpools", namespace, name }, sandboxWarmPoolSchema));
  const { pool } = facts;
  if (!pool || isSettled(facts, asked)) return;
  const query = { labelSelector: `${WARM_POOL_LABEL}=${nameHash(name)}` };
  const [members, events] = await Promise.all([
    reader.list({ resource: "sandboxes", namespace }, query, sandboxSchema),
    reader.events(namespace, name),
    readTemplate(reader, facts, pool.spec.sandboxTemplateRef.name),
  ]);
  set(facts, "members", members);
  facts.events = events;
  const worst = worstMember(members ?? []);
  if (!worst || facts.template === null) return;
  facts.sandbox = worst;
  await readPod(reader, facts, worst);
  await readAround(reader, facts);
}

async function readTemplateFacts(reader: FactReader, facts: Facts): Promise<void> {
  const { namespace, name } = facts.subject;
  const [policy] = await Promise.all([
    reader.one({ resource: "networkpolicies", namespace, name: policyName(name) }, kubeObjectSchema),
    readTemplate(reader, facts, name),
  ]);
  set(facts, "policy", policy);
}

/** Reads a Sandbox by name. At the same time, reads the Pod and Events of that name, because most Pods have it. */
async function readSandboxAndPod(reader: FactReader, facts: Facts, name: string): Promise<undefined> {
  const { namespace } = facts.subject;
  const [sandbox, pod, events] = await Promise.all([
    reader.one({ resource: "sandboxes", namespace, name }, sandboxSchema),
    reader.one<PodFact>({ resource: "pods", namespace, name }),
    reader.events(namespace, name),
  ]);
  set(facts, "sandbox", sandbox);
  set(facts, "pod", pod);
  facts.events = [...facts.events ?? [], ...events];
  return undefined;
}

async function readPod(reader: FactReader, facts: Facts, { metadata }: Sandbox): Promise<void> {
  const { namespace } = facts.subject;
  const name = podNameOf({ metadata });
  const [pod, events] = await Promise.all([
    reader.one<PodFact>({ resource: "pods", namespace, name }),
    reader.events(namespace, metadata.name),
  ]);
  set(facts, "pod", pod);
  facts.events = [...facts.events ?? [], ...events];
}

async function readTemplate(reader: FactReader, facts: Facts, name: string): Promise<void> {
  const path = { resource: "sandboxtemplates", namespace: facts.subject.namespace, name } as const;
  set(facts, "template", await reader.one(path, sandboxTemplateSchema));
}

/**
 * Reads the binder's Lease in the namespaces where it usually is. If it is in neither, searches all namespaces, which
 * needs permission to list Leases.
 */
async function readBinder(reader: FactReader, facts: Facts): Promise<void> {
  for (const namespace of [SYSTEM_NAMESPACE, "default"]) {
    const found = await reader.one<LeaseFact>({ resource: "leases", namespace, name: BINDER_LEASE });
    if (found !== null) return set(facts, "binder", found);
  }
  const all = await reader.list<LeaseFact>({ resource: "leases" }, { fieldSelector: `metadata.name=${BINDER_LEASE}` });
  set(facts, "binder", all && (all[0] ?? null));
}

/** Reads the objects that the Pod refers to, and the quotas if one of them was exceeded. */
async function readAround(reader: FactReader, facts: Facts): Promise<void> {
  const { subject: { namespace }, pod } = facts;
  const node = pod?.spec?.nodeName;
  const isReady = pod?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
  const isWaiting = pod !== null && pod !== undefined && !node;
  const claims = isWaiting ? (pod.spec?.volumes ?? []).filter((volume) => volume.persistentVolumeClaim) : [];
  const words = [facts.sandbox?.status?.conditions ?? [], facts.events ?? []].flat().map(({ message }) => message);
  const reads: Promise<void>[] = [];
  const read = <K extends keyof Facts>(key: K, found: Promise<Facts[K] | undefined>) => {
    reads.push(found.then((value) => set(facts, key, value)));
  };
  const list = <T>(path: ObjectPath) => reader.list<T>(path);
  if (words.some(isQuotaExceeded)) read("quotas", list<QuotaFact>({ resource: "resourcequotas", namespace }));
  if (isWaiting && (pod.spec?.schedulingGates ?? []).length === 0) {
    read("nodes", list<NodeFact>({ resource: "nodes" }));
  }
  if (node && !isReady) {
    const found = reader.one<NodeFact>({ resource: "nodes", name: node });
    read("nodes", found.then((value) => value === null ? [] : value && [value]));
  }
  if (claims.length > 0) {
    read("volumeClaims", list<VolumeClaimFact>({ resource: "persistentvolumeclaims", namespace }));
    read("storageClasses", list<NamedFact>({ resource: "storageclasses" }));
  }
  const names = claims.map((volume) => volume.persistentVolumeClaim?.claimName ?? "");
  reads.push(
    Promise.all(names.map((name) => reader.events(namespace, name))).then((found) => {
      facts.events = [...facts.events ?? [], ...found.flat()];
    }),
  );
  await Promise.all(reads);
}

/**
 * Returns whether the facts so far are enough: the object is Ready or suspended, has expired, or is being deleted. What
 * has become Ready only a short time ago may be in a crash loop, which its Pod shows.
 */
function isSettled(facts: Facts, asked: Date): boolean {
  const { code, since } = why(facts, asked);
  if (code === "Ready" && facts.subject.kind !== "SandboxWarmPool") {
    return secondsSince(since, asked) >= LONGEST_BACK_OFF_SECONDS;
  }
  return ["Ready", "Expired", "BeingDeleted", "Suspended"].includes(code);
}

function set<K extends keyof Facts>(facts: Facts, key: K, value: Facts[K] | undefined): void {
  if (value !== undefined) facts[key] = value;
}
