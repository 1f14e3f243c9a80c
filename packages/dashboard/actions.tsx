/** Buttons to change or delete an object. The API server checks whether the user may do so. @module */
import { useRef, useState } from "preact/hooks";
import type { KubeObject } from "../api/objects/objects.ts";
import { type Api, type ApiRequest, pathOf } from "../kube/api.ts";
import { useDraft } from "./draft.ts";
import type { Listed } from "./route.ts";
import { troubleOf } from "./session.ts";

/** The buttons of an object. */
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
        <Size
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

/** An input for the size of a pool. */
function Size({ now, isBusy, onChange }: { now: number; isBusy: boolean; onChange(size: number): void }) {
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
