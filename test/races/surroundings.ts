/** What each process is surrounded by. @module */
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import type { Watcher, Weather } from "./weather.ts";

/** Called for every write that was answered; no `before` is a creation, no `after` an end. Without a process: users' writes. */
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
