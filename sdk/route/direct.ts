/** Straight to the Pod, or through what leads there: looks for it once, and again when it has moved. @module */
import { ConnectionError, type ObjectRef } from "../errors.ts";
import type { Route } from "./route.ts";
import { send } from "./send.ts";

/** Where the Sandbox's Pod is. */
export interface PodPlace {
  namespace: string;
  name: string;
  ip: string;
}

/** Ways to a Pod's ports. */
export interface PodAccess {
  kind: "direct" | "forward";
  /** Finds the Pod; wakes the Sandbox where it is suspended. */
  find(signal: AbortSignal | undefined): Promise<PodPlace>;
  /** Returns where a port of the Pod is reached from here. */
  reach(pod: PodPlace, port: number): Promise<URL>;
  close(): Promise<void>;
}

/** Makes it for a Sandbox. */
export function createPodRoute({ kind, find, reach, close }: PodAccess, namespace: string, name: string): Route {
  const object: ObjectRef = { kind: "Sandbox", namespace, name };
  let pod: Promise<PodPlace> | undefined;
  const place = (signal?: AbortSignal) => {
    pod ??= find(signal);
    pod.catch(() => pod = undefined);
    return pod;
  };
  return {
    kind,
    async fetch(port, path, request = {}) {
      for (let again = true;; again = false) {
        const base = await reach(await place(request.signal), port);
        try {
          return await send(new URL(base.origin + path), request, object);
        } catch (error) {
          if (!(error instanceof ConnectionError)) throw error;
          // It may have been suspended, or got another Pod.
          pod = undefined;
          if (!again || error.mayHaveArrived || request.body instanceof ReadableStream) throw error;
        }
      }
    },
    address: async (port) => await reach(await place(), port),
    close,
  };
}

/** Returns the origin of a port of a Pod that this machine has a route to. */
export function podOrigin({ ip }: PodPlace, port: number): URL {
  return new URL(`http://${ip.includes(":") ? `[${ip}]` : ip}:${port}`);
}
