/** Creates a claim, which gets a sandbox from a pool. @module */
import { useEffect, useRef, useState } from "preact/hooks";
import { type Api, pathOf } from "../kube/api.ts";
import { troubleOf } from "./session.ts";

/** The form, in a dialog. */
export function Create({ api, namespace, onClose }: { api: Api; namespace: string; onClose(): void }) {
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
