/** Watches all that happens in a run, and notes what must never happen at the moment that it does. @module */
import type { MemoryServer } from "../../packages/testing/server.ts";
import { podRule, specRule, volumeRule } from "./rules/children.ts";
import {
  annotatedRule,
  deletionRule,
  expiryRule,
  finalRule,
  labelsRule,
  oneRule,
  ownersRule,
  shownRule,
} from "./rules/claims.ts";
import { nameRule, populationRule } from "./rules/pools.ts";
import type { Notice, Say } from "./surroundings.ts";

export interface History {
  /** What must never happen and did. */
  violations: string[];
  /** Must be called for every write of a process. */
  notice: Notice;
  /** Must be called after whatever users do. */
  look(): void;
}

/** The processes that run twice at some time: what one writes may be older than what the other has written. */
export type Doubled = Record<"binder" | "engine", boolean>;

/** Starts a history. */
export function createHistory({ store, onChange }: MemoryServer, doubled: Doubled): History {
  const violations: string[] = [];
  const say: Say = (text) => void violations.push(`${store.clock.now() % 1e6}: ${text}`);
  const ofWrites = [
    ownersRule(say),
    labelsRule(say),
    shownRule(store, say, doubled.binder),
    annotatedRule(say, doubled.binder),
    ...(doubled.engine ? [] : [finalRule(store, say), nameRule(say)]),
    deletionRule(store, say),
    expiryRule(store, say),
    specRule(store, say),
  ];
  const ofChanges = [
    ...(doubled.binder ? [] : [oneRule(say)]),
    populationRule(store, say, doubled.engine ? 2 : 1),
    podRule(say),
    volumeRule(store, say),
  ];
  onChange((change) => ofChanges.forEach((rule) => rule(change)));
  const notice: Notice = (before, after, verb, by) => ofWrites.forEach((rule) => rule(before, after, verb, by));
  return { violations, notice, look: () => notice(undefined, undefined, "look") };
}
