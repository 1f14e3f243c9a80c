/** Finds the best member of a pool without examining all of its members. @module */
import type { Sandbox } from "../api/sandbox.ts";
import { type MemberState, memberState } from "../../hooks/sandboxwarmpool/view.ts";
import { placeOf } from "../../hooks/sandboxwarmpool/sequence.ts";
import { placeIn } from "./queue.ts";

/** Index of a pool's members by whether they are Ready, running, or have no address yet. */
export interface Members {
  /** Adds or updates a member. */
  put(sandbox: Sandbox): void;
  /** Removes a member; returns false if it was not in the index. */
  remove(uid: string): boolean;
  /**
   * Returns the member that a claim gets: the oldest Ready member on the node with the most Ready members, or else the
   * oldest running member. Does not remove it.
   *
   * @param isFit returns false for a member that must not be chosen. It is called only until it returns true
   * @param upTo the highest sequence number that a member may have
   */
  best(isFit: (sandbox: Sandbox) => boolean, upTo?: number): Sandbox | undefined;
  /** Returns the number of all members, of Ready members, and of members that have no address yet. */
  counts(): { all: number; ready: number; coming: number };
}

interface Entry {
  sandbox: Sandbox;
  state: MemberState;
  /** Sort key: by age. */
  rank: string;
  /** The member's sequence number in the pool; 0 if it has none. */
  number: number;
  group: Entry[] | undefined;
}

/** Creates the index of a pool without members. */
export function createMembers(): Members {
  const entries = new Map<string, Entry>();
  /** By node, oldest first. */
  const ready = new Map<string, Entry[]>();
  const starting: Entry[] = [];
  let coming = 0;

  function groupOf({ state, sandbox }: Pick<Entry, "state" | "sandbox">): Entry[] | undefined {
    if (state === "starting") return starting;
    if (state !== "ready") return undefined;
    const node = sandbox.status?.nodeName ?? "";
    const group = ready.get(node) ?? [];
    ready.set(node, group);
    return group;
  }

  function remove(uid: string): boolean {
    const entry = entries.get(uid);
    if (!entry) return false;
    entries.delete(uid);
    if (entry.state === "coming") coming--;
    entry.group?.splice(placeIn(entry.group, entry.rank), 1);
    if (entry.state === "ready" && entry.group?.length === 0) ready.delete(entry.sandbox.status?.nodeName ?? "");
    return true;
  }

  return {
    put(sandbox) {
      const { uid = "", creationTimestamp = "", name } = sandbox.metadata;
      remove(uid);
      const state = memberState(sandbox);
      const group = groupOf({ state, sandbox });
      const number = placeOf(sandbox)?.number ?? 0;
      const entry = { sandbox, state, rank: `${creationTimestamp} ${name}`, number, group };
      entries.set(uid, entry);
      if (state === "coming") coming++;
      group?.splice(placeIn(group, entry.rank), 0, entry);
    },
    remove,
    best(isFit, upTo = Infinity) {
      const fullestFirst = [...ready.values()].sort((a, b) => b.length - a.length);
      for (const group of [...fullestFirst, starting]) {
        const found = group.find(({ sandbox, number }) => number <= upTo && isFit(sandbox));
        if (found) return found.sandbox;
      }
      return undefined;
    },
    counts: () => ({
      all: entries.size,
      ready: [...ready.values()].reduce((sum, group) => sum + group.length, 0),
      coming,
    }),
  };
}
