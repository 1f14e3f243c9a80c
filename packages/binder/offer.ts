/** What there is for the claims of a pool: members that may be given, and such as will not be for a while. Pure but for what it remembers. @module */
import type { Sandbox } from "../api/sandbox.ts";
import type { SandboxTemplate } from "../api/sandboxtemplate.ts";
import type { SandboxWarmPool } from "../api/sandboxwarmpool.ts";
import { isHandable } from "../../hooks/sandboxwarmpool/applied.ts";
import { blueprintHash, isStale } from "../../hooks/sandboxwarmpool/blueprint.ts";
import { countedUpTo } from "../../hooks/sandboxwarmpool/sequence.ts";
import type { Members } from "./members.ts";
import { isOutline } from "./whole.ts";

/** What there is for the claims of a pool, for as long as nothing of it changes. */
export interface Offer {
  /** Undefined: does not exist. */
  pool: SandboxWarmPool | undefined;
  template: SandboxTemplate | undefined;
  /** Why no sandbox of the template may start; undefined: they may (fence.ts). */
  policyProblem: string | undefined;
  /** What claims may have of the members; looked for once, however many ask. */
  find(): Found;
  /** Claims before this one that wait for a member which has no address yet. */
  waiting: number;
}

interface Found {
  /** The member whose turn it is; undefined: there is none. */
  first: Sandbox | undefined;
  /** Returns the one after it, for a claim that cannot have the first. */
  second(): Sandbox | undefined;
  /** Whether there is one that could be given once it is counted. */
  isUncounted: boolean;
  /** Members that have no address yet. */
  coming: number;
}

/** Makes the offer of a pool, for claims that are judged at one time. */
export function offerOf(
  pool: SandboxWarmPool | undefined,
  template: SandboxTemplate | undefined,
  members: Pick<Members, "best" | "counts">,
  now: number,
  policyProblem?: string,
): Offer {
  const find = once(() => pool ? foundIn(pool, template, members, now) : NOTHING);
  return { pool, template, policyProblem, find, waiting: 0 };
}

const NOTHING: Found = { first: undefined, second: () => undefined, isUncounted: false, coming: 0 };

function foundIn(
  pool: SandboxWarmPool,
  template: SandboxTemplate | undefined,
  members: Pick<Members, "best" | "counts">,
  now: number,
): Found {
  const isFit = fitsIn(pool, template, now);
  // Another might be gone again with its claim before it is counted, and the next would have its name.
  const upTo = countedUpTo(pool);
  const first = members.best(isFit, upTo);
  return {
    first,
    second: once(() => members.best((sandbox) => sandbox !== first && isFit(sandbox), upTo)),
    isUncounted: !first && members.best(isFit) !== undefined,
    coming: members.counts().coming,
  };
}

function once<T>(find: () => T): () => T {
  let found: { value: T } | undefined;
  return () => (found ??= { value: find() }).value;
}

/** Returns what tells whether a member can be given: under Recreate only if it is like the template. */
function fitsIn(
  pool: SandboxWarmPool,
  template: SandboxTemplate | undefined,
  now: number,
): (sandbox: Sandbox) => boolean {
  const isFree = (sandbox: Sandbox) => (aside.get(sandbox) ?? 0) <= now && isHandableOnce(sandbox);
  if (pool.spec.updateStrategy?.type !== "Recreate") return isFree;
  if (!template) return () => false;
  return (sandbox) => isFree(sandbox) && !isStaleOnce(sandbox, template);
}

/** What was found of templates as they are: to hash and to compare one takes as long as it is large. */
const judged = new WeakMap<SandboxTemplate, { hash: string; stale: WeakMap<Sandbox, boolean> }>();

function isStaleOnce(sandbox: Sandbox, template: SandboxTemplate): boolean {
  const { hash, stale } = judged.get(template) ?? { hash: blueprintHash(template), stale: new WeakMap() };
  judged.set(template, { hash, stale });
  const found = stale.get(sandbox) ?? isStale(sandbox, template, hash);
  stale.set(sandbox, found);
  return found;
}

/** What was found of Sandboxes as they were observed: the merge behind it costs more than all else here. */
const handable = new WeakMap<Sandbox, boolean>();

function isHandableOnce(sandbox: Sandbox): boolean {
  // Of an outline that is seen once all of it is there.
  const found = handable.get(sandbox) ?? (isOutline(sandbox) || isHandable(sandbox));
  handable.set(sandbox, found);
  return found;
}

/** Versions of members that are not to be given, until when, in milliseconds since the epoch. */
const aside = new WeakMap<Sandbox, number>();
/** UIDs of the claims to which versions of members were refused first. */
const refused = new WeakMap<Sandbox, string>();

/**
 * Takes note that the API server would not hand a member, as it was observed, over to a claim. What is refused to one may
 * be that claim's fault; what is refused to another one, too, is kept from being chosen until then.
 *
 * @param claim its UID
 * @param until in milliseconds since the epoch
 */
export function refuse(sandbox: Sandbox, claim: string, until: number): void {
  const first = refused.get(sandbox) ?? claim;
  refused.set(sandbox, first);
  if (first !== claim) aside.set(sandbox, until);
}
