/**
 * Finds out whether a sandbox works without requests: asks its runtime, and looks for a Lease that holds it.
 * @module
 */
import { request, type RequestOptions } from "node:http";
import { setImmediate } from "node:timers";
import * as z from "zod";
import { answerError, type Api, pathOf } from "../../kube/api.ts";
import { HOLD_LABEL, POD_UID_HEADER } from "../../api/router/protocol.ts";
import { createByteBuffer } from "../../process/bytebuffer.ts";
import { isMisdirected } from "../proxy/failure.ts";
import type { Activity } from "./decision.ts";

const count = z.number().nonnegative().optional().catch(undefined);
const activitySchema = z.object({
  running: count,
  terminals: count,
  streams: count,
  cpuSeconds: count,
  runnable: count,
  jobs: count,
  networkBytes: count,
  idleSeconds: count,
});

/** An answer of the runtime, and when it came, in milliseconds. */
export interface ActivitySample {
  at: number;
  reported: z.infer<typeof activitySchema>;
}

const ANSWER_TIMEOUT_MS = 2000;
const MOST_BYTES = 16_384;
/**
 * Longest list of Leases, in bytes. If the Leases of a Sandbox need more, the router logs that and the Sandbox stays
 * up.
 */
const MOST_LEASE_BYTES = 1 << 20;
/** Least time between two samples for the use of the CPU to be calculated. */
const LEAST_SPAN_MS = 1000;

/**
 * Requests `GET /v1/activity`.
 *
 * @returns undefined: there is no runtime, because nothing listens or something else answers. "silent": the port
 * accepts the connection but sends no complete answer in time, as a runtime does if other processes use all its CPU
 * time; or another Pod's runtime has the address, which says nothing about this Pod
 */
export async function requestActivity(
  address: string,
  port: number,
  timeoutMs = ANSWER_TIMEOUT_MS,
  podUID?: string,
): Promise<ActivitySample | "silent" | undefined> {
  try {
    const headers = podUID === undefined ? {} : { [POD_UID_HEADER]: podUID };
    const text = await getText({ host: address, port, headers }, timeoutMs);
    if (text === "silent") return text;
    const { data } = activitySchema.safeParse(JSON.parse(text));
    return data && { at: performance.now(), reported: data };
  } catch {
    return undefined;
  }
}

/**
 * Returns the sample to compare the next one with: the earlier sample until it is old enough. If each sample replaced
 * it, samples in quick succession could never be compared.
 */
export function nextBaseline(before: ActivitySample | undefined, sample: ActivitySample): ActivitySample {
  const isTooNear = before !== undefined && sample.at - before.at < LEAST_SPAN_MS &&
    (sample.reported.cpuSeconds ?? 0) >= (before.reported.cpuSeconds ?? 0);
  return isTooNear ? before : sample;
}

/** Calculates the activity between two samples. @param before undefined: there is no earlier sample */
export function activityOf(before: ActivitySample | undefined, { at, reported }: ActivitySample): Activity {
  const { cpuSeconds, networkBytes, runnable = 0, ...rest } = reported;
  /** Growth per second of a number; undefined if it is not known. */
  const rateOf = (now: number | undefined, then: number | undefined) =>
    now !== undefined && then !== undefined && before !== undefined && now >= then && at - before.at >= LEAST_SPAN_MS
      ? (now - then) / ((at - before.at) / 1000)
      : undefined;
  const cores = rateOf(cpuSeconds, before?.reported.cpuSeconds);
  const bytesPerSecond = rateOf(networkBytes, before?.reported.networkBytes);
  const wanting = Math.min(before?.reported.runnable ?? 0, runnable);
  return { ...rest, cores, bytesPerSecond, wanting, hasCPU: cpuSeconds !== undefined };
}

/**
 * Returns the body of the answer, or "silent" if it takes longer than `timeoutMs` on an open connection.
 *
 * @throws {Error} on all other failures
 */
function getText(options: RequestOptions, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request({ ...options, path: "/v1/activity", agent: false }, (answer) => {
      const body = createByteBuffer();
      sent.off("close", incomplete);
      answer.once("close", incomplete);
      answer.on("error", reject);
      answer.on("data", (chunk: Uint8Array) => {
        body.add(chunk);
        if (body.size() > MOST_BYTES) fail("too long");
      });
      answer.once("end", () => {
        if (answer.statusCode === 200) resolve(body.takeText());
        else if (isMisdirected(answer)) resolve("silent");
        else fail(`status ${answer.statusCode}`);
      });
    });
    const fail = (why: string) => {
      reject(new Error(why));
      sent.destroy();
    };
    // Without this listener, node:http would end the request without an event.
    sent.once("upgrade", (_, socket) => {
      socket.destroy();
      fail("an upgrade");
    });
    // The kernel accepts connections to a listening process even if the process gets no CPU time.
    let isConnected = false;
    sent.once("socket", (socket) => socket.once("connect", () => isConnected = true));
    // First handle events that have arrived: this process may have had no CPU time either.
    const timer = setTimeout(() =>
      setImmediate(() => {
        if (isConnected) resolve("silent");
        fail("no answer in time");
      }), timeoutMs);
    const incomplete = () => fail("no whole answer");
    sent.once("close", incomplete).once("close", () => clearTimeout(timer));
    sent.on("error", reject).end();
  });
}

const leasesSchema = z.object({
  items: z.array(z.object({
    metadata: z.object({ labels: z.record(z.string(), z.string()).optional() }),
    spec: z.object({
      holderIdentity: z.string().nullish(),
      renewTime: z.string().nullish(),
      leaseDurationSeconds: z.number().nullish(),
    }).optional(),
  })),
});

/**
 * Tells whether a Lease with the label names the Sandbox, has a holder, and was renewed within its duration. A Lease
 * without a duration holds the Sandbox until the Lease is deleted.
 *
 * @throws {Error} if the API server gives no answer
 */
export async function isHeldByLease(api: Api, namespace: string, name: string, now: number): Promise<boolean> {
  const path = pathOf({ resource: "leases", namespace });
  const query = { labelSelector: `${HOLD_LABEL}=${name}` };
  const answer = await api.send({ method: "GET", path, query, mostBytes: MOST_LEASE_BYTES });
  const leases = answer.status === 200 ? leasesSchema.safeParse(answer.body).data : undefined;
  if (!leases) throw answerError(`list Leases that hold ${namespace}/${name}`, answer);
  return leases.items.some(({ metadata, spec }) => {
    if (metadata.labels?.[HOLD_LABEL] !== name || !spec?.holderIdentity) return false;
    const { renewTime, leaseDurationSeconds: seconds } = spec;
    const until = seconds ? Date.parse(renewTime ?? "") + seconds * 1000 : Infinity;
    return Number.isNaN(until) || until > now;
  });
}
