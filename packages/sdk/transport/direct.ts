/** Reaches the ports of a Pod directly or by port-forward; finds the Pod again after it was replaced. @module */
import { WAKE_HEADER } from "../../api/router/protocol.ts";
import { ConnectionError, type ObjectRef, SandboxError } from "../errors.ts";
import { orAborted } from "../runtime/call.ts";
import { send } from "./send.ts";
import type { ExecRequest, ExecSession, SandboxTransport, TransportRequest } from "./transport.ts";

/** Where the Pod of a Sandbox is. */
export interface PodPlace {
  namespace: string;
  name: string;
  ip: string;
}

/** Options of a lookup: whether to resume a suspended Sandbox, and a signal that cancels the lookup. */
export interface PodWishes {
  wake: boolean;
  signal?: AbortSignal | undefined;
}

/** A way to reach Pods without the network, such as that of `@hookbox/testing`. */
export interface PodWay {
  /** Returns the URL at which programs on this machine reach a port of a Pod. */
  reach(pod: PodPlace, port: number): Promise<URL>;
  /** Sends a request to a port of a Pod. `url` is the URL from `reach` with the path of the request. */
  send(pod: PodPlace, port: number, url: URL, request: TransportRequest): Promise<Response>;
}

/** Functions that find a Pod and reach its ports. */
export interface PodAccess {
  kind: "direct" | "forward";
  /** Finds the Pod of a Sandbox, and waits until the Sandbox is Ready. */
  find(wishes: PodWishes): Promise<PodPlace>;
  /** Returns the URL at which this machine reaches a port of the Pod. @param localPort see {@link SandboxTransport} */
  reach(pod: PodPlace, port: number, localPort?: number): Promise<URL>;
  /** Sends a request to a port of the Pod. @default by `fetch` */
  send?: PodWay["send"];
  /** Runs a command in the Pod. Absent if this is not possible. */
  exec?(pod: PodPlace, request: ExecRequest): Promise<ExecSession>;
  close(): Promise<void>;
}

/** Reason of the error if nothing answers on a port of the Pod, or on the way to it. */
export const PORT_SILENT = "PortSilent";

/** Time without use after which the Pod is looked up again, in milliseconds: its address may belong to another Pod. */
const TRUSTED_MS = 10_000;

/** Creates the transport to a Sandbox. @param hint last known place of its Pod; undefined: not known */
export function createPodTransport(
  access: PodAccess,
  namespace: string,
  name: string,
  hint?: PodPlace,
): SandboxTransport {
  const { kind, reach, exec } = access;
  const object: ObjectRef = { kind: "Sandbox", namespace, name };
  const place = remembered(access, hint);
  return {
    kind,
    async fetch(port, path, request = {}) {
      const wake = new Headers(request.headers).get(WAKE_HEADER) !== "false";
      for (let again = true;; again = false) {
        const pod = await place.find({ wake, signal: request.signal });
        const url = new URL((await reach(pod, port)).origin + path);
        const what = `port ${port} of sandbox ${namespace}/${name}`;
        try {
          const answer = await (access.send
            ? access.send(pod, port, url, request)
            : send(url, request, { object, what, reason: PORT_SILENT }));
          place.used();
          return answer;
        } catch (error) {
          if (!(error instanceof ConnectionError)) throw error;
          // The Sandbox may have been suspended, or have a new Pod.
          place.forget();
          if (!again || error.mayHaveArrived || request.body instanceof ReadableStream) throw error;
        }
      }
    },
    ...exec
      ? { exec: async (request) => await exec(await place.find({ wake: true, signal: request.signal }), request) }
      : {},
    address: async (port, { signal, localPort } = {}) =>
      await reach(await place.find({ wake: true, signal }), port, localPort),
    async close() {
      place.end(new SandboxError(`Cannot reach sandbox ${namespace}/${name}: its handle was closed`, { object }));
      await access.close();
    },
  };
}

/** A lookup of the Pod: running, or with its result. */
interface Search {
  place: Promise<PodPlace>;
  wake: boolean;
  /** Number of calls that wait for it. */
  waiting: number;
  /** Cancels it, unless the Pod was found. */
  end(reason: unknown): void;
}

/**
 * Looks up the Pod once for all callers; again if it was not used for a while, or cannot be reached. A lookup ends when
 * nobody waits for it any more. Otherwise it could watch the Sandbox for two minutes and keep the process from ending.
 */
function remembered({ find }: PodAccess, hint: PodPlace | undefined) {
  let known: Search | undefined = hint &&
    { place: Promise.resolve(hint), wake: true, waiting: 0, end: () => known = undefined };
  let usedAt = performance.now();
  const used = () => usedAt = performance.now();
  const begin = (wake: boolean): Search => {
    used();
    const leaving = new AbortController();
    const { signal } = leaving;
    const place = orAborted(find({ wake, signal }), signal);
    const forget = () => search === known && (known = undefined);
    const end = (reason: unknown) => {
      forget();
      leaving.abort(reason);
    };
    const search = { place, wake, waiting: 0, end };
    place.then(used, forget);
    return search;
  };
  return {
    used,
    forget: () => known = undefined,
    end: (reason: unknown) => known?.end(reason),
    async find({ wake, signal }: PodWishes): Promise<PodPlace> {
      const isTrusted = known && performance.now() - usedAt < TRUSTED_MS && (known.wake || !wake);
      const search = known = known && isTrusted ? known : begin(wake);
      search.waiting++;
      try {
        return await orAborted(search.place, signal);
      } finally {
        if (--search.waiting === 0 && signal?.aborted) search.end(signal.reason);
      }
    },
  };
}

/** Returns the URL of a port of a Pod for a machine that can reach the Pod's address. */
export function podOrigin({ ip }: PodPlace, port: number): URL {
  return new URL(`http://${ip.includes(":") ? `[${ip}]` : ip}:${port}`);
}
