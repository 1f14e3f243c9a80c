/** Defines what the chapters of the demo share: the cluster, hookbox in it, and what cannot be shown there. @module */
import type { Parts, RouterPlace } from "./parts.ts";
import { note, type Shell } from "./terminal.ts";

/** What a chapter may need that not every cluster has. */
export type Need = "containers" | "runtime" | "router";

/** The cluster and hookbox, and how to end them. */
export interface Stage {
  /** The cluster and the namespace of the chapters, in the words of the options of `hookbox` and of the SDK. */
  where: { kubeconfig?: string; context?: string; namespace: string };
  shell: Shell;
  parts: Parts;
  /** Why something that a chapter may need is missing here. */
  missing: Readonly<Partial<Record<Need, string>>>;
  /** Absent until a chapter has used it. */
  router?: RouterPlace;
  /** Ends or removes everything, or leaves it, and shows what happens. */
  leave(how: { keep: boolean; failed: boolean }): Promise<void>;
}

/** Paths of conditions, for `shell.until`. */
export const READY = '.status.conditions[?(@.type=="Ready")].status';

export const SUSPENDED = '.status.conditions[?(@.type=="Suspended")].status';

/** The data that chapters share. */
export interface Story {
  stage: Stage;
  shell: Shell;
}

/** One chapter: its title, and what it does. */
export interface Chapter {
  title: string;
  play(story: Story): Promise<void>;
}

/** Plays a chapter only if the cluster has what the chapter needs. If not, it prints why not. */
export function needing(needs: readonly Need[], play: Chapter["play"]): Chapter["play"] {
  return async (story) => {
    const why = needs.map((need) => story.stage.missing[need]).find((reason) => reason !== undefined);
    if (why === undefined) await play(story);
    else note(why);
  };
}
