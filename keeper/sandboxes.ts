/** Everything that the keeper does for Sandboxes, on one watch. @module */
import { type Sandbox, sandboxSchema } from "../api/sandbox.ts";
import type { Log } from "../lib/log.ts";
import { type Api, pathOf } from "./api.ts";
import { childrenDuty } from "./childrenduty.ts";
import type { Builders } from "./children.ts";
import type { Duty, Sink } from "./duty.ts";
import { expiryDuty } from "./expiryduty.ts";
import type { Pace } from "./look.ts";
import { createQueue } from "./queue.ts";
import type { Report } from "./report.ts";
import { sharedPortsDuty } from "./sharedportsduty.ts";
import { follow } from "./watch.ts";

export interface SandboxesOptions {
  builders: Builders;
  log: Log;
  report: Report;
  /** Waits of the looks at children; tests shorten them. */
  pace?: Pace;
  /** Called each time every Sandbox has been seen. */
  onListed?: () => void;
}

/** Watches all Sandboxes and does the duties for them until `signal` fires. */
export async function keepSandboxes(api: Api, options: SandboxesOptions, signal: AbortSignal): Promise<void> {
  const { log, report, onListed = () => {} } = options;
  const duties: Duty<Sandbox>[] = [
    expiryDuty(api, report),
    childrenDuty({ api, ...options }),
    sharedPortsDuty(api, report),
  ];
  const queues = duties.map((duty) => createQueue(duty, { log }, signal));
  const sink: Sink<Sandbox> = {
    observe: (sandbox) => queues.forEach((queue) => queue.observe(sandbox)),
    gone: (uid) => queues.forEach((queue) => queue.gone(uid)),
    listed(uids) {
      queues.forEach((queue) => queue.listed(uids));
      onListed();
    },
  };
  const parse = (object: unknown) => sandboxSchema.safeParse(object).data;
  await follow(api, { path: pathOf({ resource: "sandboxes" }), parse }, sink, { log, signal });
}
