/** Buttons that change or delete an object. Each says what it deletes, what stays, and which claim it affects. @module */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { findCondition } from "../api/objects/conditions.ts";
import { DRAINING_LABEL } from "../api/objects/keys.ts";
import { controllerOf, type KubeObject } from "../api/objects/objects.ts";
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxClaim } from "../api/sandboxclaim.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import { type Api, type ApiRequest, type ObjectPath, pathOf } from "../kube/api.ts";
import { ageOf } from "../summary/age.ts";
import type { Related } from "./overview.tsx";
import { Dialog, ObjectLink, PERIODS, Trouble } from "./parts.tsx";
import { troubleOf } from "./session.ts";
import type { Collection } from "./state.ts";

interface ActionsProps {
  api: Api;
  object: KubeObject;
  related: Related;
  /** All Sandboxes that are shown with a pool. */
  sandboxes: Collection;
}

/** Suspends, resumes, extends, resizes or deletes an object. */
export function Actions({ api, object, related, sandboxes }: ActionsProps) {
  const [asking, setAsking] = useState<ComponentChildren>();
  const [trouble, setTrouble] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const run: Run = async (path, request) => {
    setAsking(undefined);
    setBusy(true);
    setTrouble(await troubleOf(api, { ...request, path: pathOf(path) }));
    setBusy(false);
  };
  const close = () => setAsking(undefined);
  const props = { object, related, isBusy, run, ask: setAsking, close };
  return (
    <>
      <div class="actions">
        {object.kind === "Sandbox" || object.kind === "SandboxClaim"
          ? <SandboxActions {...props} />
          : object.kind === "SandboxWarmPool" && <PoolSize {...props} sandboxes={sandboxes} />}
      </div>
      <Trouble text={trouble} />
      {asking}
    </>
  );
}

type Run = (path: ObjectPath, request: Omit<ApiRequest, "path">) => Promise<void>;

/** Buttons that open a dialog, or send a request. */
interface ButtonsProps {
  object: KubeObject;
  related: Related;
  isBusy: boolean;
  run: Run;
  ask(dialog: ComponentChildren): void;
  close(): void;
}

function SandboxActions({ object, related, isBusy, run, ask, close }: ButtonsProps) {
  const isClaim = object.kind === "SandboxClaim";
  const { namespace = "", name } = object.metadata;
  const sandbox = isClaim ? related.sandbox : object as Sandbox;
  const owner = sandbox && controllerOf(sandbox.metadata);
  const claim = isClaim ? name : owner?.kind === "SandboxClaim" ? owner.name : undefined;
  const setMode = (operatingMode: "Running" | "Suspended") =>
    void run({ resource: "sandboxes", namespace, name: sandbox?.metadata.name ?? name }, {
      method: "PATCH",
      body: { spec: { operatingMode } },
    });
  const remove = (kind: "Sandbox" | "SandboxClaim", which: string, uid: string | undefined) =>
    void run({ resource: kind === "Sandbox" ? "sandboxes" : "sandboxclaims", namespace, name: which }, {
      method: "DELETE",
      // Another object may have got the name since the question was asked.
      body: { propagationPolicy: "Background", ...uid === undefined ? {} : { preconditions: { uid } } },
    });
  const button = (text: string, onClick: () => void, more = {}) => (
    <button type="button" disabled={isBusy} onClick={onClick} {...more}>{text}</button>
  );
  const askSuspend = () =>
    ask(
      <Question title={`Suspend ${sandbox?.metadata.name}?`} onClose={close} texts={suspensionText(sandbox!, claim)}>
        {button("Suspend", () => setMode("Suspended"))}
      </Question>,
    );
  const askDelete = () => {
    const texts = deletionText(object, related);
    if (isClaim || claim === undefined) {
      const kind = isClaim ? "SandboxClaim" : "Sandbox";
      return ask(
        <Question title={`Delete ${isClaim ? "claim" : "Sandbox"} ${name}?`} onClose={close} texts={texts}>
          {button("Delete", () => remove(kind, name, object.metadata.uid), { class: "danger" })}
        </Question>,
      );
    }
    ask(
      <Question title={`Delete Sandbox ${name} of claim ${claim}?`} onClose={close} texts={texts}>
        {button("Replace its sandbox", () => remove("Sandbox", name, object.metadata.uid), { class: "danger" })}
        {button("Delete the claim", () => remove("SandboxClaim", claim, owner?.uid), { class: "danger" })}
      </Question>,
    );
  };
  const isSuspended = sandbox?.spec.operatingMode === "Suspended";
  return (
    <>
      {sandbox && (isSuspended
        ? button("Resume", () => setMode("Running"), { title: "Creates a new Pod with the same volumes" })
        : button("Suspend", askSuspend))}
      {(isClaim || claim === undefined) &&
        button("Set expiry", () => ask(<Expiry object={object} onClose={close} run={run} />))}
      {button("Delete", askDelete, { class: "danger" })}
      {claim !== undefined && !isClaim && (
        <span>
          Used by claim <ObjectLink of={{ kind: "SandboxClaim", namespace, name: claim }} />
        </span>
      )}
    </>
  );
}

/** What an action does, one paragraph each. */
function Question(
  { title, texts, onClose, children }: {
    title: string;
    texts: readonly string[];
    onClose(): void;
    children: ComponentChildren;
  },
) {
  return (
    <Dialog title={title} onClose={onClose}>
      {texts.map((text) => <p key={text}>{text}</p>)}
      <div class="actions">
        <button type="button" autofocus onClick={onClose}>Cancel</button>
        {children}
      </div>
    </Dialog>
  );
}

/** Says what suspending a Sandbox deletes and keeps. Pure. */
export function suspensionText(sandbox: Sandbox, claim: string | undefined): string[] {
  const affected = claim === undefined ? "" : ` Claim ${claim} is not Ready until the sandbox is resumed.`;
  return [
    "Deletes the Pod: running programs end, and files outside of its volumes are lost.",
    `Keeps the name, ${volumesText(sandbox)}, and the address of its Service.${affected}`,
    "A request through the router resumes it, unless the sandbox forbids that.",
  ];
}

/** Says what deleting a claim or a Sandbox deletes and keeps, and whose claim it affects. Pure. */
export function deletionText(object: KubeObject, { sandbox, claim }: Related): string[] {
  const { name } = object.metadata;
  if (object.kind === "SandboxClaim") {
    const pool = (object as SandboxClaim).spec.warmPoolRef.name;
    if (sandbox === undefined) return [`Deletes claim ${name}. It has no sandbox.`, `Pool ${pool} stays.`];
    return [
      `Deletes claim ${name}, its Sandbox ${sandbox.metadata.name}, the Pod, and ${volumesText(sandbox)}. ` +
      "All files in the sandbox are lost.",
      `Pool ${pool} and its other sandboxes stay.`,
    ];
  }
  const owner = controllerOf(object.metadata);
  const volumes = volumesText(object as Sandbox);
  const deleted = `Sandbox ${name}, its Pod, and ${volumes}. All files in it are lost.`;
  if (owner?.kind === "SandboxClaim") {
    const pool = claim?.spec.warmPoolRef.name;
    const source = pool === undefined ? "its pool" : `pool ${pool}`;
    return [
      `Claim ${owner.name} uses this Sandbox. Both choices delete ${deleted}`,
      `"Replace its sandbox" keeps claim ${owner.name}, which gets another sandbox from ${source} at once.`,
      `"Delete the claim" deletes claim ${owner.name}, too.`,
    ];
  }
  if (owner?.kind === "SandboxWarmPool") {
    return [`Deletes ${deleted}`, `No claim uses it. Pool ${owner.name} creates a new sandbox in its place.`];
  }
  return [`Deletes ${deleted}`, "No claim uses it, and nothing replaces it."];
}

function volumesText({ metadata, spec }: Sandbox): string {
  const names = (spec.volumeClaimTemplates ?? []).map((volume) => `${volume.metadata?.name}-${metadata.name}`);
  if (names.length === 0) return "no volumes, as it has none";
  return `${names.length === 1 ? "volume" : "volumes"} ${names.join(", ")}`;
}

interface LifecycleSpec {
  shutdownTime?: string;
  shutdownPolicy?: string;
}

/**
 * Returns the change of a claim or Sandbox for a new expiry. An object that had none is then deleted at its expiry, as
 * with the SDK. Pure.
 *
 * @param time RFC 3339; null: never
 */
export function expiryChange({ kind, ...object }: KubeObject, time: string | null): object {
  const spec = object["spec"] as LifecycleSpec & { lifecycle?: LifecycleSpec };
  const before = kind === "Sandbox" ? spec : spec.lifecycle;
  const isNew = time !== null && before?.shutdownTime === undefined;
  // Every Sandbox has a policy, as "Retain" is the default, so only that of a claim is known to be chosen.
  const keepsPolicy = kind === "SandboxClaim" && before !== undefined;
  const fields = { shutdownTime: time, ...isNew && !keepsPolicy ? { shutdownPolicy: "Delete" } : {} };
  return { spec: kind === "Sandbox" ? fields : { lifecycle: fields } };
}

/** Asks when a claim or Sandbox expires. */
function Expiry({ object, onClose, run }: { object: KubeObject; onClose(): void; run: Run }) {
  const [chosen, setChosen] = useState("0");
  const [time, setTime] = useState("");
  const { namespace, name } = object.metadata;
  const isClaim = object.kind === "SandboxClaim";
  const end = chosen === "never"
    ? null
    : chosen === "time"
    ? new Date(time)
    : new Date(Date.now() + (PERIODS[Number(chosen)]?.ms ?? 0));
  const isValid = end === null || end.getTime() > Date.now();
  const rfc3339 = end && isValid ? end.toISOString().replace(/\.\d+Z$/, "Z") : null;
  const change = expiryChange(object, rfc3339) as { spec: LifecycleSpec & { lifecycle?: LifecycleSpec } };
  const policy = (isClaim ? change.spec.lifecycle : change.spec)?.shutdownPolicy ?? policyOf(object);
  return (
    <Dialog title={`Expiry of ${name}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const resource = isClaim ? "sandboxclaims" : "sandboxes";
          if (isValid) void run({ resource, namespace, name }, { method: "PATCH", body: change });
        }}
      >
        <label>
          Expires
          <select value={chosen} onChange={({ currentTarget }) => setChosen(currentTarget.value)}>
            {PERIODS.map(({ length }, index) => <option key={length} value={String(index)}>In {length}</option>)}
            <option value="time">At a time…</option>
            <option value="never">Never</option>
          </select>
        </label>
        {chosen === "time" && (
          <label>
            Time
            <input
              type="datetime-local"
              required
              value={time}
              onInput={({ currentTarget }) => setTime(currentTarget.value)}
            />
          </label>
        )}
        <p>
          {end === null
            ? "It stays until somebody deletes it."
            : isValid
            ? `${end.toLocaleString()}: ${expiryText(object.kind, policy)}`
            : "Choose a time in the future."}
        </p>
        <div class="actions">
          <button type="button" onClick={onClose}>Cancel</button>
          <button type="submit" disabled={!isValid}>Set expiry</button>
        </div>
      </form>
    </Dialog>
  );
}

function policyOf({ kind, ...object }: KubeObject): string {
  const spec = object["spec"] as LifecycleSpec & { lifecycle?: LifecycleSpec };
  return (kind === "Sandbox" ? spec : spec.lifecycle)?.shutdownPolicy ?? "Retain";
}

/** Says what happens when an object expires. */
function expiryText(kind: string, policy: string): string {
  if (kind === "Sandbox") {
    return policy === "Retain"
      ? "deletes its Pod and Service, and keeps its volumes."
      : "deletes the Sandbox with its Pod and volumes.";
  }
  return policy === "Retain"
    ? "deletes its sandbox with Pod and volumes, and keeps the claim as expired."
    : "deletes the claim and its sandbox with Pod and volumes.";
}

/**
 * Returns the members that a pool gives up at a new size: first those that are not Ready, then the newest. This is the
 * order of the pool's hook (hooks/sandboxwarmpool/drain.ts). Pure.
 */
export function leavingMembers(pool: SandboxWarmPool, sandboxes: readonly Sandbox[], size: number): Sandbox[] {
  const members = sandboxes.filter(({ metadata }) =>
    controllerOf(metadata)?.uid === pool.metadata.uid && metadata.labels?.[DRAINING_LABEL] === undefined &&
    metadata.deletionTimestamp === undefined
  );
  const isReady = ({ status }: Sandbox) => findCondition(status?.conditions, "Ready")?.status === "True";
  const created = ({ metadata }: Sandbox) => metadata.creationTimestamp ?? "";
  return members.sort((a, b) => Number(isReady(a)) - Number(isReady(b)) || created(b).localeCompare(created(a)))
    .slice(0, Math.max(0, members.length - size));
}

function PoolSize({ object, isBusy, run, ask, close, sandboxes }: ButtonsProps & { sandboxes: Collection }) {
  const pool = object as SandboxWarmPool;
  const { namespace = "", name } = pool.metadata;
  const now = pool.spec.replicas ?? 1;
  const [typed, setTyped] = useState<string>();
  const size = Number(typed ?? now);
  const isValid = typed !== "" && Number.isInteger(size) && size >= 0;
  const apply = () => {
    setTyped(undefined);
    void run({ resource: "sandboxwarmpools", namespace, name }, {
      method: "PATCH",
      body: { spec: { replicas: size } },
    });
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (!isValid || size === now) return;
    if (size > now) return apply();
    ask(
      <Dialog title={`Shrink pool ${name} from ${now} to ${size}?`} onClose={close}>
        <Leaving members={leavingMembers(pool, sandboxes.objects as Sandbox[], size)} collection={sandboxes} />
        <p>Claims keep their sandboxes. If a claim takes one of these first, another one is deleted in its place.</p>
        <div class="actions">
          <button type="button" autofocus onClick={close}>Cancel</button>
          <button type="button" class="danger" onClick={apply}>Change size to {size}</button>
        </div>
      </Dialog>,
    );
  };
  return (
    <form class="actions" onSubmit={submit}>
      <label>
        Size
        <input
          type="number"
          min={0}
          required
          disabled={isBusy}
          value={typed ?? now}
          // A size that somebody else sets in between would take away the user's selection: "4" would become "14".
          onFocus={({ currentTarget }) => setTyped(currentTarget.value)}
          onBlur={({ currentTarget }) => currentTarget.value === String(now) && setTyped(undefined)}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        />
      </label>
      <button type="submit" disabled={isBusy || !isValid || size === now}>Change size</button>
    </form>
  );
}

/** Names the members of a pool that a change deletes. */
function Leaving({ members, collection: { isListed, trouble } }: { members: Sandbox[]; collection: Collection }) {
  const now = new Date();
  if (!isListed) return <Trouble text={`Cannot name the members: ${trouble ?? "they are still loading"}`} />;
  if (members.length === 0) return <p>The pool has no more sandboxes than that, so none is deleted.</p>;
  return (
    <>
      <p>These sandboxes of the pool are deleted, with their Pods and volumes. No claim uses them:</p>
      <ul class="members">
        {members.map(({ metadata }) => (
          <li key={metadata.uid}>{metadata.name}, {ageOf(metadata.creationTimestamp, now)} old</li>
        ))}
      </ul>
    </>
  );
}
