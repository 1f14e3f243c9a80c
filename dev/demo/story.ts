/** What a chapter of the demo is, and what it works with. @module */
import { note } from "./screen.ts";
import type { Shell } from "./shell.ts";
import type { Stage } from "./stage.ts";

/** Paths of conditions, for `shell.until`. */
export const READY = '.status.conditions[?(@.type=="Ready")].status';
export const SUSPENDED = '.status.conditions[?(@.type=="Suspended")].status';

/** What the story knows as it goes on. */
export interface Story {
  stage: Stage;
  shell: Shell;
}

/** One chapter: its headline and what happens in it. */
export interface Chapter {
  title: string;
  play(story: Story): Promise<void>;
}

const SIMULATED = "The nodes are simulated: there is no container that could answer a request.";

/** Plays it where nodes run containers; elsewhere says why not. */
export function onRealNodes(play: Chapter["play"]): Chapter["play"] {
  return async (story) => story.stage.cluster.nodes === "real" ? await play(story) : note(SIMULATED);
}
