/** Lists all objects of a kind: filter, namespace, counts per status, and order. @module */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { controllerOf, type KubeObject } from "../api/objects/objects.ts";
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import type { Api } from "../kube/api.ts";
import { byPool, type ServedCounts, servedInHour } from "../summary/pools.ts";
import type { Status } from "../summary/status.ts";
import { CreateClaim } from "./create.tsx";
import { Namespaces } from "./namespaces.tsx";
import { Empty, isForbidden, scopeOf } from "./empty.tsx";
import { Dialog } from "./parts.tsx";
import { missingText, projectColumns } from "./projects.ts";
import { addressOf, type Route } from "./route.ts";
import {
  countsOf,
  filtered,
  filterFault,
  inOrder,
  type KnownRows,
  listColumns,
  makeColumn,
  poolStatusWith,
  type Row,
  rowsOf,
  type Width,
  widthsOf,
} from "./rows.ts";
import { EndSelected } from "./selection.tsx";
import { type Collection, useClock } from "./state.ts";
import { isStatusAwaited, shownOf, StatusCounts, useStatusOf, type Watches } from "./status.tsx";
import { Table, type TableControl } from "./table.tsx";

interface ListProps {
  api: Api;
  route: Route;
  watches: Watches;
  /** Namespaces that the user may list; undefined: not known, or the user may not list them. */
  namespaces: readonly string[] | undefined;
  change: ChangeRoute;
}

/** Changes parts of the route. With `replace`, the back button does not return to the route as it was. */
export type ChangeRoute = (part: Partial<Route>, how?: "replace") => void;

/** How long the user must stop typing before the filter gets into the URL, in milliseconds: browsers limit such changes. */
const TYPING_MS = 300;

/** Shows the kind and the namespace that the route names. */
export function List({ api, route, watches, namespaces, change }: ListProps) {
  const { list, namespace, statuses, sort, open } = route;
  const { objects, isListed, trouble } = shownOf(list, watches);
  const [words, setWords] = useFilter(route, change);
  const [isCreating, setCreating] = useState(false);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const now = useClock();
  const served = useServed(route, watches);
  const poolOf = usePoolOf(watches.claims);
  const { projects, claims } = watches;
  const columns = useMemo(() => {
    if (list.kind === "Project") return projectColumns(projects, claims);
    const own = listColumns(list, { allNamespaces: namespace === "" });
    if (list.kind === "Sandbox") return own.map((one) => one.header === "POOL" ? makeColumn("POOL", poolOf) : one);
    const more = SERVED.map(([header, cell, title]) =>
      makeColumn(header, ({ metadata }) => {
        const counts = served?.get(metadata.uid);
        return counts ? cell(counts) : "";
      }, title)
    );
    return served ? [...own, ...more] : own;
  }, [list, namespace, served, ...list.kind === "Project" ? [projects.facts, claims] : []]);
  const plainStatusOf = useStatusOf(watches, now);
  const ofPools = useMemo(() => new WeakMap<Status, Status>(), [served]);
  const statusOf = (object: KubeObject) => {
    const status = plainStatusOf(object);
    const counts = served?.get(object.metadata.uid);
    if (!status || !counts) return status;
    const known = ofPools.get(status) ?? poolStatusWith(status, counts);
    ofPools.set(status, known);
    return known;
  };
  // Of these columns: rows, and those whose widths are known. With thousands of rows, few have changed.
  const made = useMemo(() => ({ known: new WeakMap() as KnownRows, measured: new WeakSet<Row>() }), [columns]);
  const all = useMemo(
    () => rowsOf(objects, columns, statusOf, now, made.known),
    [objects, columns, watches.pods, watches.sandboxes, now],
  );
  const widths = useRef<Record<string, Width>>({});
  widths.current = useMemo(() => {
    const rows = all.filter((row) => !made.measured.has(row));
    for (const row of rows) made.measured.add(row);
    return widthsOf(columns, rows, widths.current);
  }, [columns, all]);
  const matching = useMemo(() => filtered(all, words, now), [all, words]);
  const counts = useMemo(() => countsOf(matching, statuses), [matching, statuses.join()]);
  const rows = useMemo(() => {
    const isChosen = ({ status }: Row) => status !== undefined && statuses.includes(status.name);
    return inOrder(statuses.length === 0 ? matching : matching.filter(isChosen), columns, sort);
  }, [matching, statuses.join(), columns, sort?.column, sort?.isDescending]);
  const control = useRef<TableControl | null>(null);
  const openKey = open && `${open.namespace}/${open.name}`;
  useReturn(openKey, control);
  const [isHelping, setHelping] = useState(false);
  const search = useKeys({
    control,
    onHelp: () => setHelping(true),
    onEscape: () => open && change({ open: undefined }),
  });
  const canEnd = list.kind === "Sandbox" || list.kind === "SandboxClaim";
  const chosen = canEnd ? rows.filter(({ key }) => selected.has(key)) : [];
  const title = list.title.toLowerCase();
  const choose = (next: string) => change({ namespace: next, open: undefined });
  const openOf = ({ metadata: { namespace = "", name } }: KubeObject) => ({ namespace, name });
  return (
    <section class="list" aria-label={list.title}>
      <div class="bar">
        <input
          ref={search}
          type="search"
          aria-label="Filter"
          placeholder={`Filter ${title}, such as age>1d`}
          title="Each word must be in a column or a label. age>1d: older than a day; age<10m: younger than 10 minutes."
          value={words}
          onInput={({ currentTarget }) => setWords(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" && event.key !== "ArrowDown") return;
            event.preventDefault();
            control.current?.focus(rows[0]?.key);
          }}
        />
        <Namespaces value={namespace} known={namespaces} objects={objects} onChange={choose} />
        <span role="status">{isListed ? `${rows.length} of ${objects.length}` : ""}</span>
        <button type="button" class="help" aria-label="Keys" title="Keys (?)" onClick={() => setHelping(true)}>
          ?
        </button>
        <button type="button" onClick={() => setCreating(true)}>New sandbox</button>
      </div>
      {counts.length > 0 && (
        <StatusCounts
          counts={counts}
          selected={statuses}
          onSelect={(statuses) => change({ statuses })}
        />
      )}
      {trouble && isListed && <p role="alert">{trouble}</p>}
      {isListed && isForbidden(watches.pods.trouble) && (
        <p class="quiet">
          Your user may not list Pods {scopeOf(namespace)}, so STATUS shows only what the objects themselves report.
        </p>
      )}
      {list.kind === "Project" && <ProjectsMissing {...{ projects, claims, namespace }} />}
      <Table
        label={list.title}
        columns={columns}
        rows={rows}
        widths={widths.current}
        sort={sort}
        onSort={(sort) => change({ sort })}
        open={openKey}
        onOpen={({ object }) => change({ open: openOf(object) })}
        addressOf={({ object }) => addressOf({ ...route, open: openOf(object) })}
        selection={canEnd ? { keys: selected, onChange: setSelected } : undefined}
        control={control}
      >
        <Empty
          {...{ title, namespace, trouble }}
          isListed={isListed && !(statuses.length > 0 && isStatusAwaited(list.kind, watches))}
          count={objects.length}
          filter={[words.trim(), ...statuses].filter(Boolean).join(" ")}
          onClear={() => {
            setWords("");
            change({ statuses: [], filter: "" });
          }}
          onCreate={() => setCreating(true)}
          fault={filterFault(words)}
          isUnknown={namespace !== "" && namespaces?.includes(namespace) === false}
        />
      </Table>
      {/* Below the rows, which must not move under the pointer. */}
      {chosen.length > 0 && (
        <EndSelected
          api={api}
          objects={chosen.map(({ object }) => object)}
          shown={rows.length}
          onAll={() => setSelected(new Set(rows.map(({ key }) => key)))}
          onEnd={() => setSelected(new Set())}
        />
      )}
      {isCreating && <CreateClaim api={api} namespace={namespace} onClose={() => setCreating(false)} />}
      {isHelping && <Keys onClose={() => setHelping(false)} />}
    </section>
  );
}

/** Says why cells of projects are empty. */
function ProjectsMissing(
  { projects, claims, namespace }: Pick<Watches, "projects" | "claims"> & { namespace: string },
) {
  const missing = missingText(projects);
  const noClaims = isForbidden(claims.trouble) &&
    `Your user may not list claims ${scopeOf(namespace)}, so the list does not count sandboxes.`;
  return (
    <>
      {noClaims && <p class="quiet">{noClaims}</p>}
      {missing !== undefined && <p class="quiet">{missing}</p>}
    </>
  );
}

/** Returns what the filter shows, and a function to change it. The URL follows when the user stops typing. */
function useFilter({ filter }: Route, change: ChangeRoute): [string, (words: string) => void] {
  const [words, setWords] = useState(filter);
  const written = useRef(filter);
  // The back button, or a link. Before a timer can write again, or a letter that was typed since would be lost.
  useLayoutEffect(() => {
    if (filter !== written.current) setWords(filter);
    written.current = filter;
  }, [filter]);
  useEffect(() => {
    if (words === filter) return;
    const timer = setTimeout(() => {
      written.current = words;
      // The back button leads to the list without a filter, not to each letter.
      change({ filter: words }, filter === "" ? undefined : "replace");
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [words, filter]);
  return [words, setWords];
}

/** When the panel closes, its row gets the focus, unless something else has it. */
function useReturn(open: string | undefined, control: { current: TableControl | null }): void {
  const last = useRef(open);
  useEffect(() => {
    const closed = last.current;
    last.current = open;
    if (open === undefined && closed !== undefined && document.activeElement === document.body) {
      control.current?.focus(closed);
    }
  }, [open]);
}

interface KeysProps {
  control: { current: TableControl | null };
  onHelp(): void;
  onEscape(): void;
}

/** Follows the keys of the whole page. Returns the reference for the filter. */
function useKeys({ control, onHelp, onEscape }: KeysProps) {
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const follow = (event: KeyboardEvent) => {
      const target = event.target as Element;
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      // A dialog closes itself, also if nothing in it has the focus.
      if (document.querySelector("dialog[open]")) return;
      if (event.key === "Escape" && target === search.current) {
        // The browser clears the field; a second Escape leaves it.
        if (search.current?.value !== "") return;
        control.current?.focus();
      } else if (target.closest("input:not([type=checkbox]), textarea, select, dialog, .terminal, [contenteditable]")) {
        return;
      } else if (event.key === "/") search.current?.focus();
      else if (event.key === "?") onHelp();
      else if (event.key === "Escape") onEscape();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", follow);
    return () => removeEventListener("keydown", follow);
  });
  return search;
}

const KEYS: readonly [keys: string[], text: string][] = [
  [["/"], "go to the filter"],
  [["↑", "↓", "PageUp", "PageDown", "Home", "End"], "move in the list; ↑ on the first row goes to the headers"],
  [["Enter"], "open the row; on a header: sort"],
  [["Space"], "select the row; with Shift: all rows from the last selected one"],
  [["Esc"], "close the panel, and return to its row"],
  [["?"], "show the keys"],
];

/** Shows the keys, and what the filter understands. */
function Keys({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <table class="keys">
        <tbody>
          {KEYS.map(([keys, text]) => (
            <tr key={text}>
              <td>{keys.map((key) => <kbd key={key}>{key}</kbd>)}</td>
              <td>{text}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <h3>Filter</h3>
      <p>
        A row matches if each word is in one of its columns or labels: <code>team=a python</code>.{" "}
        <code>age&gt;1d</code>: older than a day; <code>age&lt;10m</code>: younger than 10 minutes.
      </p>
      <div class="actions">
        <button type="button" autofocus onClick={onClose}>Close</button>
      </div>
    </Dialog>
  );
}

/** Columns about the claims of the last hour: header, cell, and what the header does not say. */
const SERVED: readonly [header: string, cell: (counts: ServedCounts) => string, title: string][] = [
  [
    "SERVED (1H)",
    ({ warm, cold, unknown }) => String(warm + cold + unknown),
    "Claims that got a sandbox in the last hour, without those that have been deleted",
  ],
  ["COLD", ({ cold }) => String(cold), "Of these, claims that waited for a new sandbox, because the pool was empty"],
  [
    "HIT RATE",
    ({ warm, cold }) => warm + cold === 0 ? "" : `${Math.floor((100 * warm) / (warm + cold))}%`,
    "Share of the claims that got a sandbox from the pool",
  ],
];

/** Counts the claims served in the last hour, by UID of the pool; undefined: the list shows no pools. */
function useServed(
  { list }: Route,
  { pools: { objects: pools }, claims: { objects: claims }, sandboxes: { objects: sandboxes } }: Watches,
): Map<unknown, ServedCounts> | undefined {
  const isPools = list.kind === "SandboxWarmPool";
  return useMemo(() => {
    if (!isPools) return undefined;
    // These casts are safe: the API server has validated what it stores.
    const all = byPool(pools as SandboxWarmPool[], claims as SandboxClaim[], sandboxes as Sandbox[]);
    return new Map(all.map((objects) => [objects.pool.metadata.uid, servedInHour(objects, Date.now())]));
  }, [isPools, pools, claims, sandboxes]);
}

/** Returns a function, always the same one, for the pool of a Sandbox: its owner's name, or what its claim names. */
function usePoolOf({ objects }: Collection): (sandbox: KubeObject) => string {
  const pools = useRef<ReadonlyMap<string, string>>(new Map());
  pools.current = useMemo(() => {
    const named = (objects as SandboxClaim[]).map(({ metadata: { uid = "" }, spec }) =>
      [uid, spec.warmPoolRef.name] as const
    );
    return new Map(named);
  }, [objects]);
  return useMemo(() => ({ metadata }) => {
    const { kind, name = "", uid = "" } = controllerOf(metadata) ?? {};
    return kind === "SandboxWarmPool" ? name : pools.current.get(uid) ?? "";
  }, []);
}
