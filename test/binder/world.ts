/** A store with pool, template and members in it, a binder on it, and what that asks for. Nothing else runs: no hooks, no keeper. @module */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxClaim } from "../../packages/api/sandboxclaim.ts";
import type { Deliver } from "../../packages/binder/state.ts";
import type { TemplatePolicy } from "../../packages/api/templatepolicy.ts";
import type { Answer, ApiRequest } from "../../packages/kube/api.ts";
import { findCondition } from "../../packages/api/objects/conditions.ts";
import { controllerOf, type KubeObject } from "../../packages/api/objects/objects.ts";
import type { ApiFault, MemoryApi } from "../../packages/testing/api/memoryapi.ts";
import { type RunningBinder, startBinder } from "../../packages/testing/processes.ts";
import { createMemoryServer } from "../../packages/testing/server.ts";
import { aClaim, aMember, aPool, COUNTED, type Over, type Seen } from "../pools.ts";
import { underRole } from "../rights.ts";
import { aTemplate } from "../templates.ts";

const AGENTS = "agents.x-k8s.io/v1beta1";
const EXTENSIONS = `extensions.${AGENTS}`;

/** What is thrown where no answer comes. */
export const broken = new Error("connection reset");

/** Holds for the first request that it holds for, and for no more. */
export function once<T>(holds: (request: T) => boolean): (request: T) => boolean {
  let isOver = false;
  return (request) => !isOver && (isOver = holds(request));
}

/** Sandboxes are listed once, and then nothing is heard of them. */
export const isBlind: ApiFault = ({ method, path }) =>
  method === "WATCH" && path.endsWith("/sandboxes") ? { status: 500, body: {} } : undefined;

/** What happens around a request; `send` carries it out. */
export type Around = (request: ApiRequest, send: () => Promise<Answer>) => Promise<Answer>;

/** Carries such requests out, and tells nobody. */
export function losing(isLost: (request: ApiRequest) => boolean): Around {
  return async (request, send) => {
    const answer = await send();
    if (isLost(request)) throw broken;
    return answer;
  };
}

export function surrounded(api: MemoryApi, around: Around): MemoryApi {
  return { ...api, send: (request) => around(request, () => api.send(request)) };
}

/** Ready of a claim as `status reason message`; undefined: it has none. */
function readyText({ status }: SandboxClaim): string | undefined {
  const ready = findCondition(status?.conditions, "Ready");
  return ready && `${ready.status} ${ready.reason} ${ready.message}`.trim();
}

/** Makes a store with the namespace `team-a`, the template, and a pool of three; null: without. */
export async function aWorld({
  template = aTemplate(),
  pool = aPool({ status: COUNTED }),
  templateNetworkPolicy,
  deliver,
}: {
  template?: KubeObject | null;
  pool?: KubeObject | null;
  templateNetworkPolicy?: TemplatePolicy;
  deliver?: Deliver;
} = {}) {
  const server = await createMemoryServer({ namespaces: ["team-a"] });
  const { store } = server;
  const { clock } = store;
  if (template) await store.put(template);
  const stored = pool && await store.put(pool);
  const sandboxes = () => store.objects(AGENTS, "Sandbox") as Sandbox[];
  const claims = () => store.objects(EXTENSIONS, "SandboxClaim") as unknown as SandboxClaim[];
  const binders: RunningBinder[] = [];
  const asked: string[] = [];

  return {
    server,
    store,
    clock,
    sandboxes,
    claims,
    /** Requests of binders but lists and watches, as `<method> <path from the kind on>`. */
    asked,
    /** Puts members of the stored pool into the store. */
    async members(numbers: number[], seen: Seen = {}) {
      const uid = stored?.metadata.uid ?? "";
      const [owner] = aMember(1).metadata.ownerReferences ?? [];
      const metadata = { ownerReferences: [{ ...owner, uid }], labels: { "controller-uid": uid } };
      const applied = {
        metadata: { ...metadata, namespace: "team-a" },
        ...seen.applied && { spec: seen.applied.spec ?? {} },
      };
      for (const number of numbers) {
        await store.put(aMember(number, { ...seen, applied, metadata: { ...metadata, ...seen.metadata } }));
      }
    },
    /** Puts a claim that was created just now into the store. */
    async claim(name: string, over: Over = {}) {
      return await store.put({ ...aClaim(name, over) }) as unknown as SandboxClaim;
    },
    /** Starts a binder on an API of its own, which `fault` decides over; returns when it serves, or would if it led. */
    async binder(fault: ApiFault = () => undefined, around: Around = (_, send) => send(), leads?: Promise<void>) {
      const api = server.connect({
        fault: (request) => {
          const isList = request.method === "WATCH" ||
            (request.query?.["limit"] ?? request.query?.["labelSelector"]) !== undefined;
          const [, , , , , ...rest] = request.path.split("/");
          if (!isList) asked.push(`${request.method} ${rest.slice(1).join("/")}`);
          return fault(request);
        },
      });
      const binder = startBinder(
        surrounded(underRole(api, "binder"), around),
        clock,
        leads,
        templateNetworkPolicy,
        deliver,
      );
      binders.push(binder);
      await binder.listed;
      await clock.advance(0);
      return binder;
    },
    faults: () => binders.flatMap(({ faults }) => faults),
    async stop() {
      await Promise.all(binders.map((binder) => binder.stop()));
    },
    /** Names of the Sandboxes of each claim, by name of the claim. */
    shares(): Record<string, string[]> {
      const owned = sandboxes().filter(({ metadata }) => controllerOf(metadata)?.kind === "SandboxClaim");
      const byUid = Map.groupBy(owned, ({ metadata }) => controllerOf(metadata)?.uid);
      return Object.fromEntries(
        claims().map(({ metadata: { name, uid } }) => [
          name,
          (byUid.get(uid) ?? []).map(({ metadata }) => metadata.name),
        ]),
      );
    },
    /** The Sandbox that each claim shows, by name of the claim. */
    shown(): Record<string, string | undefined> {
      return Object.fromEntries(claims().map(({ metadata, status }) => [metadata.name, status?.sandbox?.name]));
    },
    /** Watches the Ready conditions of a claim from now on: those that differ from the one before, as {@link readyText}. */
    versionsOf(claim: string): (string | undefined)[] {
      const versions: (string | undefined)[] = [];
      server.onChange(({ object, isGone }) => {
        if (object.kind !== "SandboxClaim" || object.metadata.name !== claim || isGone) return;
        const text = readyText(object as unknown as SandboxClaim);
        if (versions.length === 0 || versions.at(-1) !== text) versions.push(text);
      });
      return versions;
    },
    /** Ready of each claim as {@link readyText}, by name of the claim. */
    ready(): Record<string, string | undefined> {
      return Object.fromEntries(
        claims().map(({ metadata: { name }, status }) => {
          const ready = findCondition(status?.conditions, "Ready");
          return [name, ready && `${ready.status} ${ready.reason} ${ready.message}`.trim()];
        }),
      );
    },
    async remove(
      object: { metadata: { name: string } } | undefined,
      kind: "Sandbox" | "SandboxClaim" | "SandboxWarmPool",
    ) {
      const apiVersion = kind === "Sandbox" ? AGENTS : EXTENSIONS;
      const plural = { Sandbox: "sandboxes", SandboxClaim: "sandboxclaims", SandboxWarmPool: "sandboxwarmpools" }[kind];
      await store.delete(await store.resource(apiVersion, plural), "team-a", object?.metadata.name ?? "", {});
      await clock.advance(0);
    },
  };
}
