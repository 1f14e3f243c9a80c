/** The dialog to create a sandbox: a claim on a pool or template that exists. Afterwards, the new claim is opened. @module */
import { useEffect, useState } from "preact/hooks";
import { environmentProblem } from "../api/claims/request.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import { type Api, isOk, messageOf, type ObjectPath, pathOf } from "../kube/api.ts";
import { create } from "../sdk/control/create.ts";
import { addressOfObject, Dialog, PERIODS, Trouble } from "./parts.tsx";

/** What a sandbox can be created from. */
export interface Source {
  /** `pool/<name>` or `template/<name>`. */
  key: string;
  /** For people. */
  text: string;
  /** undefined: it does not exist, or the user may not read it. */
  template: SandboxTemplate | undefined;
}

/** Lists pools, the fullest first, and then the templates that no pool uses. Pure. */
export function sourcesOf(pools: readonly SandboxWarmPool[], templates: readonly SandboxTemplate[]): Source[] {
  const ready = ({ status }: SandboxWarmPool) => status?.readyReplicas ?? 0;
  const living = pools.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const used = new Set(living.map(({ spec }) => spec.sandboxTemplateRef.name));
  const find = (name: string) => templates.find(({ metadata }) => metadata.name === name);
  return [
    ...living.toSorted((a, b) => ready(b) - ready(a)).map((pool): Source => {
      const { name: template } = pool.spec.sandboxTemplateRef;
      const text = `${pool.metadata.name} (${ready(pool)} ready, template ${template})`;
      return { key: `pool/${pool.metadata.name}`, text, template: find(template) };
    }),
    ...templates.filter(({ metadata: { name } }) => !used.has(name)).map((template): Source => ({
      key: `template/${template.metadata.name}`,
      text: `${template.metadata.name} (template without a pool: starts cold)`,
      template,
    })),
  ];
}

/**
 * Reads variables that a person has typed: `NAME=VALUE`, one on each line. Empty lines are ignored. Pure.
 *
 * @throws {Error} that names the line without `=`
 */
export function variablesOf(text: string): Record<string, string> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(lines.map((line) => {
    const [, name = "", value = ""] = /^\s*([^=\s]+)=(.*)$/s.exec(line) ?? [];
    if (name === "") throw new Error(`Cannot read the variable in the line "${line}": write NAME=VALUE.`);
    return [name, value];
  }));
}

const EXPIRIES: [text: string, ms: number | null][] = [
  ["Never", null],
  ...PERIODS.map(({ length, ms }): [string, number] => [`After ${length}`, ms]),
];

/** Asks for namespace, pool or template and variables, and creates a claim. */
export function CreateClaim({ api, namespace, onClose }: { api: Api; namespace: string; onClose(): void }) {
  const namespaces = useList(api, { resource: "namespaces" }).items.map(({ metadata }) => metadata.name);
  const everywhere = useList<SandboxWarmPool>(api, { resource: "sandboxwarmpools" }).items;
  const [typed, setPlace] = useState(namespace);
  // Until the user chooses one: a namespace with a pool.
  const place = typed || (everywhere[0]?.metadata.namespace ?? "default");
  const pools = useList<SandboxWarmPool>(api, { resource: "sandboxwarmpools", namespace: place });
  const templates = useList<SandboxTemplate>(api, { resource: "sandboxtemplates", namespace: place });
  const [chosen, setChosen] = useState<string>();
  const [name, setName] = useState("");
  const [variables, setVariables] = useState("");
  const [period, setPeriod] = useState(0);
  const [trouble, setTrouble] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const sources = sourcesOf(pools.items, templates.items);
  const source = sources.find(({ key }) => key === chosen) ?? sources[0];
  const policy = source?.template?.spec.envVarsInjectionPolicy ?? "Disallowed";
  const submit = async (event: Event) => {
    event.preventDefault();
    if (source === undefined) return;
    setBusy(true);
    try {
      const env = policy === "Disallowed" ? {} : variablesOf(variables);
      const list = Object.entries(env).map(([name, value]) => ({ name, value }));
      const problem = source.template && environmentProblem(list, policy, source.template.spec.podTemplate.spec);
      if (problem) throw new Error(`Cannot create the sandbox: ${problem.message}`);
      const [kind = "pool", from = ""] = source.key.split("/");
      const timeoutMs = EXPIRIES[period]?.[1] ?? null;
      const { target } = await create(
        api,
        place,
        {
          [kind]: from,
          ...name === "" ? {} : { name },
          ...list.length === 0 ? {} : { env },
          timeoutMs,
        },
        // A router serves this page.
        { now: new Date(), trace: {}, hasRouter: true },
      );
      location.hash = addressOfObject(target) ?? location.hash;
      onClose();
    } catch (error) {
      setTrouble((error as Error).message);
      setBusy(false);
    }
  };
  const isRead = pools.isRead && templates.isRead;
  return (
    <Dialog title="New sandbox" onClose={onClose}>
      <form onSubmit={submit}>
        <label>
          Namespace
          {namespaces.length > 0
            ? (
              <select value={place} onChange={({ currentTarget }) => setPlace(currentTarget.value)}>
                {[...new Set([...namespaces, place])].sort().map((one) => <option key={one}>{one}</option>)}
              </select>
            )
            : <input value={place} required onChange={({ currentTarget }) => setPlace(currentTarget.value.trim())} />}
        </label>
        <label>
          Pool or template
          <select
            autofocus
            required
            disabled={sources.length === 0}
            value={source?.key}
            onChange={({ currentTarget }) => setChosen(currentTarget.value)}
          >
            {sources.map(({ key, text }) => <option key={key} value={key}>{text}</option>)}
          </select>
        </label>
        {isRead && sources.length === 0 && !pools.trouble && (
          <p>
            Namespace {place} has no pools and no templates. Choose another namespace, or create a template first.
          </p>
        )}
        <Trouble text={pools.trouble ?? templates.trouble} />
        <label>
          Name (optional)
          <input
            value={name}
            placeholder="A new name is made"
            onInput={({ currentTarget }) => setName(currentTarget.value.trim())}
          />
        </label>
        <label>
          Expires
          <select value={period} onChange={({ currentTarget }) => setPeriod(Number(currentTarget.value))}>
            {EXPIRIES.map(([text], index) => <option key={text} value={index}>{text}</option>)}
          </select>
        </label>
        {source && policy !== "Disallowed" && (
          <label>
            Environment variables, one NAME=VALUE per line
            <textarea
              rows={3}
              spellcheck={false}
              value={variables}
              onInput={({ currentTarget }) => setVariables(currentTarget.value)}
            />
          </label>
        )}
        {source?.template && policy === "Disallowed" && (
          <p class="faint">The template does not let a claim set environment variables.</p>
        )}
        {variables.trim() !== "" && policy !== "Disallowed" && (
          <p class="faint">A sandbox with variables of its own starts cold: no sandbox of the pool has them.</p>
        )}
        <Trouble text={trouble} />
        <div class="actions">
          <button type="button" onClick={onClose}>Cancel</button>
          <button type="submit" disabled={isBusy || source === undefined}>{isBusy ? "Creating…" : "Create"}</button>
        </div>
      </form>
    </Dialog>
  );
}

interface Listing<T> {
  items: T[];
  /** The API server has answered. */
  isRead: boolean;
  trouble: string | undefined;
}

/** Reads a collection once, and again if its namespace changes. */
function useList<T = { metadata: { name: string } }>(api: Api, { resource, namespace }: ObjectPath): Listing<T> {
  const [listing, setListing] = useState<Listing<T>>({ items: [], isRead: false, trouble: undefined });
  useEffect(() => {
    let isOver = false;
    const show = (items: T[], trouble: string | undefined) => isOver || setListing({ items, isRead: true, trouble });
    setListing({ items: [], isRead: false, trouble: undefined });
    api.send({ method: "GET", path: pathOf({ resource, namespace }) }).then((answer) => {
      if (!isOk(answer)) return show([], messageOf(answer));
      show((answer.body as { items?: T[] }).items ?? [], undefined);
    }, (error) => show([], String(error)));
    return () => void (isOver = true);
  }, [api, resource, namespace]);
  return listing;
}
