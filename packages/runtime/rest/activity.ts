/** What `GET /v1/activity` says: whether anything goes on inside, for whoever suspends idle sandboxes. Decides nothing. @module */
import type { Metrics } from "../processes/metrics.ts";

/** Counts of what goes on now. */
export interface ActivityAnswer {
  /** Commands, detached ones among them, and code that contexts run. */
  running: number;
  terminals: number;
  /** Callers that follow output. */
  streams: number;
  /** Of the whole sandbox, since it began. */
  cpuSeconds: number;
  /** Processes that run, or wait for a processor. */
  runnable: number;
  /** Since the last request, command or terminal; 0 while one of them goes on. */
  idleSeconds: number;
}

/** Words a reading of the metrics. */
export function activityOf({ sandbox, activity }: ReturnType<Metrics["read"]>, now: Date): ActivityAnswer {
  const { runningCommands, runningTerminals: terminals, attachedStreams: streams, busyContexts } = activity;
  const running = runningCommands + busyContexts;
  const idle = Math.max(0, now.getTime() - activity.lastActiveAt.getTime()) / 1000;
  const isBusy = running + terminals + streams > 0;
  const { cpuSeconds, runnableCount: runnable } = sandbox;
  return { running, terminals, streams, cpuSeconds, runnable, idleSeconds: isBusy ? 0 : idle };
}
