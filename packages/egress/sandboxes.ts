/**
 * Finds the sandbox that has an address, and what it may reach. The addresses of Pods are used again, so each new
 * connection is checked against the API server, and not only against what a watch has shown. @module
 */
import * as z from "zod";
import { controllerOf, groupOf, type ObjectMeta } from "../api/objects/objects.ts";
import {
  EGRESS_ALLOW_ANNOTATION,
  EGRESS_CLAIM_HEADERS_ANNOTATION,
  EGRESS_HEADERS_ANNOTATION,
  TEMPLATE_REF_ANNOTATION,
} from "../api/objects/keys.ts";
import { objectMetaSchema } from "../api/objects/schemas.ts";
import { answerError, type Api, pathOf } from "../kube/api.ts";
import { findRaw } from "../kube/requests.ts";
import { createStore } from "../kube/store.ts";
import type { Collection, EventHandler } from "../kube/watch.ts";
import { type Policy, policyFrom } from "../api/egress/policy.ts";

/** The objects of a list have no apiVersion and no kind. */
const objectSchema = z.looseObject({ metadata: objectMetaSchema });
type Observed = z.infer<typeof objectSchema>;

interface Identity {
  name: string;
  uid: string;
}

/** Identifies a sandbox for later requests of the same connection. */
export interface SandboxId extends Identity {
  /** The claim that had the sandbox when the connection began; the watch may show this later. */
  claim?: Identity | undefined;
}

/** What the watches show. */
export interface Sandboxes {
  /** The collections to watch, and their handlers. */
  watches: { collection: Collection<Observed>; handler: EventHandler<Observed> }[];
  hasSynced(): boolean;
  /**
   * Finds the sandbox whose Pod has this address now.
   *
   * @returns a text for people if there is none
   * @throws {Error} if the API server does not answer
   */
  at(address: string): Promise<SandboxId | string>;
  /** Returns the addresses of the namespace's proxies, without that of one Pod. */
  otherProxies(pod: string): string[];
  /** Returns what a sandbox may reach; a text for people: nothing, and why. @throws {Error} as `at` */
  policyOf(sandbox: SandboxId): Promise<SandboxPolicy | string>;
}

interface PodRecord extends Identity {
  addresses: string[];
  sandbox: Identity | undefined;
  isProxy: boolean;
  isOver: boolean;
}

interface SandboxRecord extends Identity {
  template: string | undefined;
  claim: Identity | undefined;
  texts: Texts;
}

/** The annotations. */
interface Texts {
  uid: string;
  /** When the object was created (RFC 3339). */
  created: string | undefined;
  allow: string | undefined;
  headers: string | undefined;
  claimHeaders: string | undefined;
}

/** What one sandbox may reach, and when its claim was created (RFC 3339); absent: it has none. */
interface SandboxPolicy extends Policy {
  claimCreated?: string | undefined;
}

type Kind = "sandboxes" | "sandboxclaims" | "sandboxtemplates" | "pods";

/** @param namespace the only namespace whose sandboxes are served */
export function watchSandboxes(api: Api, namespace: string): Sandboxes {
  const pods = createStore({ keep: podRecord, indexes: { address: ({ addresses }: PodRecord) => addresses } });
  const sandboxes = createStore({ keep: sandboxRecord });
  const claims = createStore({ keep: textsOf });
  const templates = createStore({ keep: textsOf });
  const handlers = { pods, sandboxes, sandboxclaims: claims, sandboxtemplates: templates };

  const read = <T>(resource: Kind, name: string, keep: (object: Observed) => T): Promise<T | undefined> =>
    findRaw<Observed>(api, { resource, namespace, name }).then((object) => object && keep(object));

  /** Without `resourceVersion`, the list is not older than the request. */
  async function podsAt(address: string): Promise<PodRecord[]> {
    const query = { fieldSelector: `status.podIP=${address}` };
    const answer = await api.send({ method: "GET", path: pathOf({ resource: "pods", namespace }), query });
    if (answer.status !== 200) throw answerError(`list the Pods of ${namespace}`, answer);
    return (answer.body as { items: Observed[] }).items.map(podRecord);
  }

  async function current(sandbox: Identity): Promise<SandboxRecord | undefined> {
    const found = sandboxes.byUid(sandbox.uid) ?? await read("sandboxes", sandbox.name, sandboxRecord);
    return found?.uid === sandbox.uid ? found : undefined;
  }

  return {
    watches: (Object.keys(handlers) as Kind[]).map((resource) => ({
      collection: { path: pathOf({ resource, namespace }), parse: (object) => objectSchema.safeParse(object).data },
      handler: handlers[resource],
    })),
    hasSynced: () => Object.values(handlers).every((store) => store.hasSynced()),

    async at(address) {
      const running = ({ isOver }: PodRecord) => !isOver;
      const shown = [...pods.byIndex("address", address)].filter(running);
      const [pod, ...others] = shown.length === 1 && shown[0]
        ? [await read("pods", shown[0].name, podRecord)]
        : (await podsAt(address)).filter(running);
      if (others.length > 0) return `several Pods have the address ${address}`;
      const isThere = pod && running(pod) && pod.addresses.includes(address);
      if (!isThere || !pod.sandbox) return `no sandbox has the address ${address}`;
      const sandbox = await read("sandboxes", pod.sandbox.name, sandboxRecord);
      if (sandbox?.uid !== pod.sandbox.uid) return `no sandbox has the address ${address}`;
      return { ...pod.sandbox, claim: sandbox.claim };
    },

    otherProxies: (pod) =>
      [...pods.values()].filter(({ isProxy, isOver, name }) => isProxy && !isOver && name !== pod)
        .flatMap(({ addresses }) => addresses.slice(0, 1)),

    async policyOf(id) {
      const sandbox = await current(id);
      if (!sandbox) return `Sandbox ${id.name} is gone`;
      const { template } = sandbox;
      // A Sandbox never changes its claim.
      const claim = id.claim ?? sandbox.claim;
      const source = template === undefined ? sandbox.texts : templates.get(namespace, template) ??
        await read("sandboxtemplates", template, textsOf);
      const owner = template === undefined ? `Sandbox ${sandbox.name}` : `SandboxTemplate ${template}`;
      if (!source) return `${owner} is gone`;
      const narrowing = claim && (claims.byUid(claim.uid) ?? await read("sandboxclaims", claim.name, textsOf));
      if (claim && narrowing?.uid !== claim.uid) return `SandboxClaim ${claim.name} is gone`;
      const policy = policyFrom(
        { ...source, owner },
        narrowing && { ...narrowing, owner: `SandboxClaim ${claim?.name}` },
      );
      return typeof policy === "string" ? policy : { ...policy, claimCreated: narrowing?.created };
    },
  };
}

function podRecord({ metadata, ...pod }: Observed): PodRecord {
  const { phase, podIP, podIPs = [] } = (pod["status"] ?? {}) as {
    phase?: string;
    podIP?: string;
    podIPs?: { ip?: string }[];
  };
  return {
    name: metadata.name,
    uid: metadata.uid ?? "",
    addresses: [...new Set([podIP, ...podIPs.map(({ ip }) => ip)])].filter((ip) => ip !== undefined),
    sandbox: ownerOf(metadata, "agents.x-k8s.io", "Sandbox"),
    isProxy: metadata.labels?.["app.kubernetes.io/name"] === "egress-proxy",
    // The address of a Pod that ends may already be another Pod's.
    isOver: metadata.deletionTimestamp !== undefined || phase === "Succeeded" || phase === "Failed",
  };
}

function sandboxRecord(object: Observed): SandboxRecord {
  const { metadata } = object;
  return {
    name: metadata.name,
    uid: metadata.uid ?? "",
    template: metadata.annotations?.[TEMPLATE_REF_ANNOTATION],
    claim: ownerOf(metadata, "extensions.agents.x-k8s.io", "SandboxClaim"),
    texts: textsOf(object),
  };
}

function textsOf({ metadata: { uid = "", creationTimestamp, annotations = {} } }: Observed): Texts {
  return {
    uid,
    created: creationTimestamp,
    allow: annotations[EGRESS_ALLOW_ANNOTATION],
    headers: annotations[EGRESS_HEADERS_ANNOTATION],
    claimHeaders: annotations[EGRESS_CLAIM_HEADERS_ANNOTATION],
  };
}

function ownerOf(metadata: ObjectMeta, group: string, kind: string): Identity | undefined {
  const owner = controllerOf(metadata);
  return owner?.kind === kind && groupOf(owner.apiVersion) === group ? { name: owner.name, uid: owner.uid } : undefined;
}
