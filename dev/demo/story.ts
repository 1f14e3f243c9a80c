/** Defines a chapter of the demo, and the data that chapters share. @module */
import { note } from "./screen.ts";
import type { Shell } from "./shell.ts";
import type { Stage } from "./stage.ts";

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

const SIMULATED = "The nodes are simulated: there is no container that could answer a request.";

/** Plays a chapter only if nodes run containers. If they do not, it prints why not. */
export function onRealNodes(play: Chapter["play"]): Chapter["play"] {
  return async (story) => story.stage.cluster.nodes === "real" ? await play(story) : note(SIMULATED);
}
