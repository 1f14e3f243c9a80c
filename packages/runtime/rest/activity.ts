/** Reports whether anything is running in the sandbox, for `GET /v1/activity`. @module */
import type { Metrics } from "../processes/metrics.ts";

/** Counts of current activity. */
export interface ActivityAnswer {
  /** Running commands, including detached ones, and contexts in which code is running. */
  running: number;
  terminals: number;
  /** Number of callers that read output. */
  streams: number;
  /** CPU time of the whole sandbox since it started. */
  cpuSeconds: number;
  /** Number of processes that run or wait for a CPU. */
  runnable: number;
  /** Seconds since the last request, command or terminal; 0 while any of them is active. */
  idleSeconds: number;
}

/** Converts the metrics to the response. */
export function activityOf({ sandbox, activity }: ReturnType<Metrics["read"]>, now: Date): ActivityAnswer {
  const { runningCommands, runningTerminals: terminals, attachedStreams: streams, busyContexts } = activity;
  const running = runningCommands + busyContexts;
  const idle = Math.max(0, now.getTime() - activity.lastActiveAt.getTime()) / 1000;
  const isBusy = running + terminals + streams > 0;
  const { cpuSeconds, runnableCount: runnable } = sandbox;
  return { running, terminals, streams, cpuSeconds, runnable, idleSeconds: isBusy ? 0 : idle };
}
