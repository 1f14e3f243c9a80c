/** Sends a CloudEvent for each lifecycle event of a Sandbox. @module */
import type { Sandbox } from "../api/sandbox.ts";
import type { EventHandler } from "../kube/watch.ts";
import { cloudEventOf } from "./cloudevent.ts";
import { createDelivery, type DeliveryOptions } from "./delivery.ts";
import { createLifecycle } from "./lifecycle.ts";
import type { CloudEventsOptions } from "./options.ts";
import { createReceiver } from "./receiver.ts";

/** Creates the handler of a watch of Sandboxes. When `signal` fires, events that wait are dropped. */
export function sendCloudEvents(
  options: CloudEventsOptions,
  reporting: Pick<DeliveryOptions, "log" | "onResult">,
  signal: AbortSignal,
): EventHandler<Sandbox> {
  const deliver = createDelivery({ receiver: createReceiver(options), ...reporting }, signal);
  return createLifecycle((event) => deliver(cloudEventOf(event, options.source)));
}
