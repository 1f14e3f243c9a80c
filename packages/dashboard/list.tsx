/** All objects of a kind, narrowed down by words and namespace. @module */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Condition } from "../api/objects/conditions.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import { columnsOf } from "../cli/output/columns.ts";
import { byPool, servedSince } from "../cli/pool/measure.ts";
import type { Api } from "../kube/api.ts";
import { useCollection } from "./collection.ts";
import { Create } from "./create.tsx";
import { LISTS, type Place } from "./place.ts";
import { Table } from "./table.tsx";

/** The list of a place. */
export function List({ api, place, go }: { api: Api; place: Place; go(place: Place): void }) {
  const { list, namespace, open } = place;
  const { objects, isListed, trouble } = useCollection(api, list, namespace || undefined);
  const [words, setWords] = useState("");
  const [isCreating, setCreating] = useState(false);
  const now = useClock();
  const columns = useMemo(() => columnsOf(list, { isWide: true, allNamespaces: namespace === "" }), [list, namespace]);
  const served = useServed(api, place, objects);
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
          placeholder="Filter: words that a row has"
          value={words}
          onInput={({ currentTarget }) => setWords(currentTarget.value)}
        />
        <input
          type="text"
          aria-label="Namespace"
          placeholder="All namespaces"
          value={namespace}
          onChange={({ currentTarget }) => go({ ...place, namespace: currentTarget.value.trim(), open: undefined })}
        />
        <span role="status">{isListed ? `${rows.length} of ${objects.length}` : trouble ? "" : "Loading…"}</span>
        <button type="button" onClick={() => setCreating(true)}>New sandbox</button>
      </div>
      {trouble && (
        <p role="alert">
          {trouble}
          {namespace === "" && !isListed && " Name a namespace above, if you may not see all of them."}
        </p>
      )}
      <Table
        headers={headers}
        rows={rows}
        keyOf={({ object }) => keyOf(object)}
        cellsOf={({ cells }) => cells}
        toneOf={({ object }) => toneOf(object)}
        open={open && `${open.namespace}/${open.name}`}
        onOpen={({ object: { metadata: { namespace = "", name } } }) => go({ ...place, open: { namespace, name } })}
      />
      {isListed && rows.length === 0 && (
        <p class="empty">{objects.length === 0 ? "There are none." : "None has these words."}</p>
      )}
      {isCreating && <Create api={api} namespace={namespace} onClose={() => setCreating(false)} />}
    </section>
  );
}

const SERVED = ["SERVED (1H)", "COLD", "HIT RATE"];
const HOUR_MS = 3_600_000;
const [SANDBOXES, CLAIMS] = LISTS;

/** What pools have served in the last hour: cells by UID; undefined where no pools are listed. */
function useServed(
  api: Api,
  { list, namespace }: Place,
  pools: readonly KubeObject[],
): Map<unknown, string[]> | undefined {
  const isPools = list.kind === "SandboxWarmPool";
  const claims = useCollection(api, isPools ? CLAIMS : undefined, namespace || undefined).objects;
  const sandboxes = useCollection(api, isPools ? SANDBOXES : undefined, namespace || undefined).objects;
  return useMemo(() => {
    if (!isPools) return undefined;
    // The API server has checked what it stores.
    const all = byPool(pools as SandboxWarmPool[], claims as SandboxClaim[], sandboxes as Sandbox[]);
    return new Map(all.map((objects) => {
      const { warm, cold, unknown } = servedSince(objects, Date.now() - HOUR_MS);
      const rate = warm + cold === 0 ? "<none>" : `${Math.floor((100 * warm) / (warm + cold))}%`;
      return [objects.pool.metadata.uid, [String(warm + cold + unknown), String(cold), rate]];
    }));
  }, [isPools, pools, claims, sandboxes]);
}

/** What is Ready looks well; what fails, or is not Ready for another reason than that it starts or is suspended, does not. */
function toneOf(object: KubeObject): string {
  const { conditions = [] } = (object["status"] ?? {}) as { conditions?: Condition[] };
  const ready = conditions.find(({ type }) => type === "Ready");
  if (conditions.some(({ type, status }) => type === "ContainersFailing" && status === "True")) return "trouble";
  if (ready === undefined) return "";
  if (ready.status === "True") return "ok";
  return /Suspended|DependenciesNotReady|NotFull/.test(ready.reason) ? "" : "trouble";
}

/** The time, anew every five seconds: ages are no more precise than that. */
function useClock(): Date {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), 5000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
