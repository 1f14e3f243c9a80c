/** Lists all objects of a kind, filtered by words and namespace. @module */
import { useMemo, useState } from "preact/hooks";
import type { Condition } from "../api/objects/conditions.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import { columnsOf } from "../summary/columns.ts";
import { byPool, servedInHour } from "../summary/pools.ts";
import type { Api } from "../kube/api.ts";
import { useClock, useCollection, useDraft } from "./state.ts";
import { CreateClaim } from "./create.tsx";
import type { PoolWatches } from "./history.tsx";
import type { Route } from "./route.ts";
import { Table } from "./table.tsx";

/** Shows the kind and the namespace that the route names. */
export function List(
  { api, route, watches, go }: { api: Api; route: Route; watches: PoolWatches; go(route: Route): void },
) {
  const { list, namespace, open } = route;
  const { objects, isListed, trouble } = useCollection(api, list, namespace || undefined);
  const [words, setWords] = useState("");
  const draft = useDraft(namespace, ({ value }) => go({ ...route, namespace: value.trim(), open: undefined }));
  const [isCreating, setCreating] = useState(false);
  const now = useClock();
  const columns = useMemo(() => columnsOf(list, { isWide: true, allNamespaces: namespace === "" }), [list, namespace]);
  const served = useServed(route, objects, watches);
  const headers = [
    ...columns.map(({ header, isWide = false }) => ({ title: header, isWide })),
    ...served ? SERVED.map((title) => ({ title, isWide: true })) : [],
  ];
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = objects.map((object) => ({
    object,
    cells: [...columns.map(({ cell }) => cell(object, now)), ...served?.get(object.metadata.uid) ?? []].map((cell) =>
      cell === "<none>" ? "" : cell
    ),
  })).filter(({ cells }) => wanted.every((word) => cells.some((cell) => cell.toLowerCase().includes(word))));
  const keyOf = ({ metadata }: KubeObject) => `${metadata.namespace}/${metadata.name}`;
  return (
    <section class="list">
      <div class="bar">
        <input
          type="search"
          aria-label="Filter"
          placeholder="Filter"
          value={words}
          onInput={({ currentTarget }) => setWords(currentTarget.value)}
        />
        <input type="text" aria-label="Namespace" placeholder="All namespaces" {...draft} />
        <span role="status">{isListed ? `${rows.length} of ${objects.length}` : trouble ? "" : "Loading…"}</span>
        <button type="button" onClick={() => setCreating(true)}>New sandbox</button>
      </div>
      {trouble && (
        <p role="alert">
          {trouble}
          {namespace === "" && !isListed && " If you may not list all namespaces, enter one above."}
        </p>
      )}
      <Table
        headers={headers}
        rows={rows}
        keyOf={({ object }) => keyOf(object)}
        cellsOf={({ cells }) => cells}
        toneOf={({ object }) => toneOf(object)}
        open={open && `${open.namespace}/${open.name}`}
        onOpen={({ object: { metadata: { namespace = "", name } } }) => go({ ...route, open: { namespace, name } })}
      />
      {isListed && rows.length === 0 && (
        <p class="empty">{objects.length === 0 ? "None found." : "No rows match the filter."}</p>
      )}
      {isCreating && <CreateClaim api={api} namespace={namespace} onClose={() => setCreating(false)} />}
    </section>
  );
}

const SERVED = ["SERVED (1H)", "COLD", "HIT RATE"];

/**
 * Returns the table cells about the claims served in the last hour, by UID of the pool; undefined: the list shows no
 * pools.
 */
function useServed(
  { list }: Route,
  pools: readonly KubeObject[],
  { claims: { objects: claims }, sandboxes: { objects: sandboxes } }: PoolWatches,
): Map<unknown, string[]> | undefined {
  const isPools = list.kind === "SandboxWarmPool";
  return useMemo(() => {
    if (!isPools) return undefined;
    // These casts are safe: the API server has validated what it stores.
    const all = byPool(pools as SandboxWarmPool[], claims as SandboxClaim[], sandboxes as Sandbox[]);
    return new Map(all.map((objects) => {
      const { warm, cold, unknown } = servedInHour(objects, Date.now());
      const rate = warm + cold === 0 ? "<none>" : `${Math.floor((100 * warm) / (warm + cold))}%`;
      return [objects.pool.metadata.uid, [String(warm + cold + unknown), String(cold), rate]];
    }));
  }, [isPools, pools, claims, sandboxes]);
}

/**
 * Returns how a row looks: `ok` for a Ready object; `trouble` if it fails, or is not Ready although it neither starts
 * nor is suspended.
 */
function toneOf(object: KubeObject): string {
  const { conditions = [] } = (object["status"] ?? {}) as { conditions?: Condition[] };
  const ready = conditions.find(({ type }) => type === "Ready");
  if (conditions.some(({ type, status }) => type === "ContainersFailing" && status === "True")) return "trouble";
  if (ready === undefined) return "";
  if (ready.status === "True") return "ok";
  return /Suspended|DependenciesNotReady|NotFull/.test(ready.reason) ? "" : "trouble";
}
