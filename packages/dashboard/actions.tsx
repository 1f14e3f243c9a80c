/** Buttons to change or delete an object, and the form to create a claim. The API server checks whether the user may do so. @module */
import { useEffect, useRef, useState } from "preact/hooks";
import type { KubeObject } from "../api/objects/objects.ts";
import { type Api, type ApiRequest, pathOf } from "../kube/api.ts";
import type { Listed } from "./route.ts";
import { troubleOf } from "./session.ts";
import { useDraft } from "./state.ts";

/** Suspends, resumes, resizes or deletes an object. */
export function Actions({ api, list, object }: { api: Api; list: Listed; object: KubeObject }) {
  const [trouble, setTrouble] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  const { namespace, name } = object.metadata;
  const path = pathOf({ resource: list.resource, namespace, name });
  const spec = (object["spec"] ?? {}) as { operatingMode?: string; replicas?: number };
  const run = async (request: Omit<ApiRequest, "path">) => {
    setBusy(true);
    setTrouble(await troubleOf(api, { ...request, path }));
    setBusy(false);
  };
  const change = (body: object) => void run({ method: "PATCH", body: { spec: body } });
  const isSuspended = spec.operatingMode === "Suspended";
  return (
    <div class="actions">
      {list.kind === "Sandbox" && (
        <button
          type="button"
          disabled={isBusy}
          onClick={() => change({ operatingMode: isSuspended ? "Running" : "Suspended" })}
        >
          {isSuspended ? "Resume" : "Suspend"}
        </button>
      )}
      {list.kind === "SandboxWarmPool" && (
        <PoolSize
          now={spec.replicas ?? 1}
          isBusy={isBusy}
          onChange={(replicas) => change({ replicas })}
        />
      )}
      {(list.kind === "Sandbox" || list.kind === "SandboxClaim") && (
        <button
          type="button"
          class="danger"
          disabled={isBusy}
          onClick={() => dialog.current?.showModal()}
        >
          Delete
        </button>
      )}
      {trouble && <p role="alert">{trouble}</p>}
      <dialog ref={dialog} aria-label="Delete">
        <p>
          Delete {list.kind} <b>{name}</b>, with its Pod and its volumes?
        </p>
        <div class="actions">
          <button type="button" autofocus onClick={() => dialog.current?.close()}>Cancel</button>
          <button
            type="button"
            class="danger"
            onClick={() => {
              dialog.current?.close();
              void run({ method: "DELETE" });
            }}
          >
            Delete
          </button>
        </div>
      </dialog>
    </div>
  );
}

/** Asks in a dialog for a pool, and creates a claim for it. */
export function CreateClaim({ api, namespace, onClose }: { api: Api; namespace: string; onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [wanted, setWanted] = useState({ namespace: namespace || "default", pool: "", name: "" });
  const [trouble, setTrouble] = useState<string>();
  const [pools, setPools] = useState<string[]>([]);
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    const path = pathOf({ resource: "sandboxwarmpools", namespace: wanted.namespace });
    api.send({ method: "GET", path }).then((answer) => {
      const { items = [] } = (answer.body ?? {}) as { items?: { metadata: { name: string } }[] };
      setPools(items.map(({ metadata }) => metadata.name));
    }, () => setPools([]));
  }, [wanted.namespace]);
  const submit = async (event: Event) => {
    event.preventDefault();
    const trouble = await troubleOf(api, {
      method: "POST",
      path: pathOf({ resource: "sandboxclaims", namespace: wanted.namespace }),
      body: {
        apiVersion: "extensions.agents.x-k8s.io/v1beta1",
        kind: "SandboxClaim",
        metadata: wanted.name === "" ? { generateName: `${wanted.pool}-` } : { name: wanted.name },
        spec: { warmPoolRef: { name: wanted.pool } },
      },
    });
    if (trouble === undefined) onClose();
    else setTrouble(trouble);
  };
  const field = (key: keyof typeof wanted, label: string, more: Record<string, unknown> = {}) => (
    <label>
      {label}
      <input
        value={wanted[key]}
        onInput={({ currentTarget }) => setWanted({ ...wanted, [key]: currentTarget.value.trim() })}
        {...more}
      />
    </label>
  );
  return (
    <dialog ref={dialog} onClose={onClose} aria-label="New sandbox">
      <form onSubmit={submit}>
        <h2>New sandbox</h2>
        {field("namespace", "Namespace", { required: true })}
        {field("pool", "Pool", { required: true, list: "pools", autofocus: true })}
        <datalist id="pools">{pools.map((pool) => <option key={pool} value={pool} />)}</datalist>
        {field("name", "Name (optional)")}
        {trouble && <p role="alert">{trouble}</p>}
        <div class="actions">
          <button type="button" onClick={onClose}>Cancel</button>
          <button type="submit">Create</button>
        </div>
      </form>
    </dialog>
  );
}

function PoolSize({ now, isBusy, onChange }: { now: number; isBusy: boolean; onChange(size: number): void }) {
  const draft = useDraft(now, ({ validity, value, valueAsNumber }) => {
    if (validity.valid && value !== "") onChange(valueAsNumber);
  });
  return (
    <label>
      Size
      <input type="number" min={0} disabled={isBusy} {...draft} />
    </label>
  );
}
