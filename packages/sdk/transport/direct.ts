/** Straight to the Pod, or through what leads there: looks for it once, and again when it has moved. @module */
import { WAKE_HEADER } from "../../api/router/headers.ts";
import { ConnectionError, type ObjectRef, SandboxError } from "../errors.ts";
import { orAborted } from "../runtime/call.ts";
import type { ExecRequest, ExecSession, SandboxTransport, TransportRequest } from "./transport.ts";
import { send } from "./send.ts";

/** Where the Sandbox's Pod is. */
export interface PodPlace {
  namespace: string;
  name: string;
  ip: string;
}

/** Whether a suspended Sandbox is woken, and what ends the search. */
export interface PodWishes {
  wake: boolean;
  signal?: AbortSignal | undefined;
}

/** A way to Pods in place of the network, such as that of `@hookbox/testing`. */
export interface PodWay {
  /** Returns where programs on this machine reach a port of a Pod. */
  reach(pod: PodPlace, port: number): Promise<URL>;
  /** Answers a request to a port of a Pod; `url` is what `reach` has said, and the request's path. */
  send(pod: PodPlace, port: number, url: URL, request: TransportRequest): Promise<Response>;
}

/** Ways to a Pod's ports. */
export interface PodAccess {
  kind: "direct" | "forward";
  /** Finds the Pod of a Sandbox that is Ready, or becomes so. */
  find(wishes: PodWishes): Promise<PodPlace>;
  /** Returns where a port of the Pod is reached from here. */
  reach(pod: PodPlace, port: number): Promise<URL>;
  /** Sends a request there. @default by `fetch` */
  send?: PodWay["send"];
  /** Runs a command in the Pod; absent: not on this way. */
  exec?(pod: PodPlace, request: ExecRequest): Promise<ExecSession>;
  close(): Promise<void>;
}

/** Reason of the error if nothing answers at a port of the Pod, or on the way there. */
export const PORT_SILENT = "PortSilent";

/** An address that was not used for so long may be another Pod's by now, in milliseconds. */
const TRUSTED_MS = 10_000;

/** Makes it for a Sandbox. @param hint where its Pod was a moment ago; undefined: nobody knows */
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
          // It may have been suspended, or got another Pod.
          place.forget();
          if (!again || error.mayHaveArrived || request.body instanceof ReadableStream) throw error;
        }
      }
    },
    ...exec
      ? { exec: async (request) => await exec(await place.find({ wake: true, signal: request.signal }), request) }
      : {},
    address: async (port, { signal } = {}) => await reach(await place.find({ wake: true, signal }), port),
    async close() {
      place.end(new SandboxError(`Cannot reach sandbox ${namespace}/${name}: its handle was closed`, { object }));
      await access.close();
    },
  };
}

/** A search for the Pod, or what it has found. */
interface Search {
  place: Promise<PodPlace>;
  wake: boolean;
  /** How many calls wait for it. */
  waiting: number;
  /** Ends it, unless the Pod is found. */
  end(reason: unknown): void;
}

/**
 * Finds the Pod once for all who ask; again when it was not used for a while, or cannot be reached. A search that nobody
 * waits for any more ends: it may watch the Sandbox for two minutes, and the process would not end before.
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

/** Returns the origin of a port of a Pod that this machine can reach. */
export function podOrigin({ ip }: PodPlace, port: number): URL {
  return new URL(`http://${ip.includes(":") ? `[${ip}]` : ip}:${port}`);
}
