/** Ends the selected sandboxes and claims together, after saying what goes and what stays. @module */
import { useRef, useState } from "preact/hooks";
import { controllerOf, type KubeObject } from "../api/objects/objects.ts";
import { type Api, type ObjectPath, pathOf } from "../kube/api.ts";
import { Dialog } from "./parts.tsx";
import { troubleOf } from "./session.ts";

/** An object to delete, and why this one. */
export interface Ending {
  kind: "Sandbox" | "SandboxClaim";
  namespace: string;
  name: string;
  uid: string;
  /** `claimed`: the claim of a selected Sandbox, which would otherwise get another one. `member`: a pool replaces it. */
  how: "itself" | "claimed" | "member";
}

/** Lists what ends the selected Sandboxes and claims: a Sandbox of a claim ends with its claim. Pure. */
export function endingsOf(objects: readonly KubeObject[]): Ending[] {
  const endings = objects.map(({ kind, metadata }): Ending => {
    const { namespace = "", name, uid = "" } = metadata;
    const owner = controllerOf(metadata);
    if (kind === "SandboxClaim") return { kind, namespace, name, uid, how: "itself" };
    if (owner?.kind === "SandboxClaim") {
      return { kind: "SandboxClaim", namespace, name: owner.name, uid: owner.uid, how: "claimed" };
    }
    return { kind: "Sandbox", namespace, name, uid, how: owner?.kind === "SandboxWarmPool" ? "member" : "itself" };
  });
  return [...new Map(endings.map((one) => [`${one.namespace}/${one.uid}`, one])).values()];
}

const RESOURCES: Record<Ending["kind"], ObjectPath["resource"]> = {
  Sandbox: "sandboxes",
  SandboxClaim: "sandboxclaims",
};
/** The API server of a small cluster is busy with a few at a time. */
const AT_ONCE = 5;

/** Up to so many names are shown at once. */
const MOST_OPEN = 40;

interface Progress {
  done: number;
  troubles: string[];
  isOver: boolean;
}

interface EndSelectedProps {
  api: Api;
  /** What is selected. */
  objects: readonly KubeObject[];
  /** How many rows the list shows. */
  shown: number;
  /** Called to select all of them. */
  onAll(): void;
  /** Called when the selection is no longer wanted. */
  onEnd(): void;
}

/** Shows how many objects are selected, and ends them. */
export function EndSelected({ api, objects, shown, onAll, onEnd }: EndSelectedProps) {
  const [asked, setAsked] = useState<Ending[]>();
  const [progress, setProgress] = useState<Progress>();
  /** What is still to be deleted. */
  const queue = useRef<Ending[]>([]);
  const end = async (endings: readonly Ending[]) => {
    const left = queue.current = [...endings];
    const troubles: string[] = [];
    let done = 0;
    const show = (isOver: boolean) => setProgress({ done, troubles: [...troubles], isOver });
    show(false);
    const work = async () => {
      for (let one = left.shift(); one !== undefined; one = left.shift()) {
        const { kind, namespace, name, uid } = one;
        const path = pathOf({ resource: RESOURCES[kind], namespace, name });
        // Another object may have got the name since it was selected.
        const body = { propagationPolicy: "Background", preconditions: { uid } };
        const trouble = await troubleOf(api, { method: "DELETE", path, body });
        if (trouble === undefined || /not found/.test(trouble)) done++;
        else troubles.push(`${namespace}/${name}: ${trouble}`);
        show(false);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    show(true);
    if (troubles.length > 0) return;
    setAsked(undefined);
    onEnd();
  };
  const close = () => {
    queue.current.length = 0;
    setAsked(undefined);
    setProgress(undefined);
  };
  return (
    <div class="selected" role="group" aria-label="Selection">
      <span>{objects.length} selected</span>
      <button type="button" class="danger" onClick={() => setAsked(endingsOf(objects))}>Delete…</button>
      {objects.length < shown && <button type="button" onClick={onAll}>Select all {shown}</button>}
      <button type="button" onClick={onEnd}>Clear selection</button>
      {asked && <Question endings={asked} progress={progress} onConfirm={() => void end(asked)} onClose={close} />}
    </div>
  );
}

interface QuestionProps {
  endings: Ending[];
  progress: Progress | undefined;
  onConfirm(): void;
  onClose(): void;
}

function Question({ endings, progress, onConfirm, onClose }: QuestionProps) {
  const of = (how: Ending["how"], kind?: Ending["kind"]) =>
    endings.filter((one) => one.how === how && (kind === undefined || one.kind === kind));
  const groups = [
    { them: of("itself", "SandboxClaim"), text: "with sandbox, Pod and volumes." },
    {
      them: of("claimed"),
      text: of("claimed").length === 1 ? "of the selected sandbox, with it." : "of the selected sandboxes, with them.",
      why:
        "If only the sandbox is deleted, its claim gets another one. AGE is the sandbox's: its claim may be younger.",
    },
    { them: of("itself", "Sandbox"), text: "with Pod and volumes." },
    {
      them: of("member"),
      text: "of a pool, with Pod and volumes.",
      why: "Their pools create new ones. To end them, make the pool smaller.",
    },
  ].filter(({ them }) => them.length > 0);
  const namespaces = [...new Set(endings.map(({ namespace }) => namespace))].sort();
  return (
    <Dialog title={`Delete ${countOf(endings)}?`} onClose={onClose}>
      <p>
        In {namespaces.length === 1 ? "namespace" : "namespaces"}{" "}
        <b>{namespaces.join(", ")}</b>. All files in the sandboxes are lost. Pools and templates stay.
      </p>
      {groups.map(({ them, text, why }) => (
        <details key={text} open={endings.length <= MOST_OPEN || groups.length === 1}>
          <summary>
            <b>{countOf(them)}</b> {text} {why && <span class="faint">{why}</span>}
          </summary>
          <ul class="members">{them.map(({ uid, namespace, name }) => <li key={uid}>{namespace}/{name}</li>)}</ul>
        </details>
      ))}
      {progress && <p role="status">{progress.done} of {endings.length} deleted</p>}
      {progress && progress.troubles.length > 0 && (
        <ul role="alert">{progress.troubles.map((text) => <li key={text}>{text}</li>)}</ul>
      )}
      <div class="actions">
        <button type="button" autofocus onClick={onClose}>
          {progress === undefined ? "Cancel" : progress.isOver ? "Close" : "Stop"}
        </button>
        <button type="button" class="danger" disabled={progress !== undefined} onClick={onConfirm}>Delete</button>
      </div>
    </Dialog>
  );
}

function countOf(endings: readonly Ending[]): string {
  const count = (kind: Ending["kind"], one: string, many: string) => {
    const { length } = endings.filter((ending) => ending.kind === kind);
    return length === 0 ? [] : [`${length} ${length === 1 ? one : many}`];
  };
  return [...count("SandboxClaim", "claim", "claims"), ...count("Sandbox", "sandbox", "sandboxes")].join(" and ");
}
