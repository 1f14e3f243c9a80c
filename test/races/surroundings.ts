/** What each process is surrounded by. @module */
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import type { Watcher, Weather } from "./weather.ts";

/** Is told of every write that was answered; no `before` is a creation, no `after` an end. By nobody: what users do. */
export type Notice = (
  before: KubeObject | undefined,
  after: KubeObject | undefined,
  verb: string,
  by?: Watcher,
) => void;

/** Notes what must never happen. */
export type Say = (text: string) => void;

export interface Surroundings {
  weather: Weather;
  notice: Notice;
  /** Whether the process was killed: what it has not sent is never sent. */
  isDead(): boolean;
}
