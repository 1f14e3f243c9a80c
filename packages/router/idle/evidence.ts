/** Whether a sandbox works though nobody asks for it: what its runtime says goes on inside, and whether somebody holds it up by a Lease. @module */
import { request } from "node:http";
import * as z from "zod";
import { answerError, type Api, pathOf } from "../../kube/api.ts";
import { HOLD_LABEL } from "../../api/router/annotations.ts";
import { createGathered } from "../../process/gathered.ts";
import type { Activity } from "./decision.ts";

const count = z.number().nonnegative().optional().catch(undefined);
const activitySchema = z.object({
  running: count,
  terminals: count,
  streams: count,
  cpuSeconds: count,
  idleSeconds: count,
});

/** What the runtime said, and when, in milliseconds. */
export interface Sample {
  at: number;
  said: z.infer<typeof activitySchema>;
}

const PATIENCE_MS = 2000;
const MOST_BYTES = 16_384;
/** Use of the CPU is told from two looks that are so far apart at least. */
const LEAST_SPAN_MS = 1000;

/** Asks `GET /v1/activity`; undefined if nobody answers, or makes sense. */
export async function askActivity(address: string, port: number): Promise<Sample | undefined> {
  try {
    const { data } = activitySchema.safeParse(JSON.parse(await getText(address, port)));
    return data && { at: performance.now(), said: data };
  } catch {
    return undefined;
  }
}

/**
 * Returns the sample to compare the next one with: an earlier one stays until it is far enough back, for of looks in quick
 * succession no two would ever tell anything.
 */
export function comparedNext(before: Sample | undefined, sample: Sample): Sample {
  const isTooNear = before !== undefined && sample.at - before.at < LEAST_SPAN_MS &&
    (sample.said.cpuSeconds ?? 0) >= (before.said.cpuSeconds ?? 0);
  return isTooNear ? before : sample;
}

/** Makes of two samples what they say of the time between; `before` undefined: there is none. */
export function activityOf(before: Sample | undefined, { at, said }: Sample): Activity {
  const { cpuSeconds, ...rest } = said;
  const then = before?.said.cpuSeconds;
  const isComparable = cpuSeconds !== undefined && then !== undefined && before !== undefined && cpuSeconds >= then &&
    at - before.at >= LEAST_SPAN_MS;
  const cores = isComparable ? (cpuSeconds - then) / ((at - before.at) / 1000) : undefined;
  return { ...rest, cores, hasCPU: cpuSeconds !== undefined };
}

function getText(host: string, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const asked = request({ host, port, path: "/v1/activity", agent: false, signal }, (answer) => {
      const body = createGathered();
      asked.off("close", unanswered);
      answer.once("close", unanswered);
      answer.on("error", reject);
      answer.on("data", (chunk: Uint8Array) => {
        body.add(chunk);
        if (body.size() > MOST_BYTES) refuse("too long");
      });
      answer.once("end", () => {
        if (answer.statusCode === 200) resolve(body.take().toString());
        else refuse(`status ${answer.statusCode}`);
      });
    });
    const refuse = (why: string) => {
      reject(new Error(why));
      asked.destroy();
    };
    // Without a listener node:http ends the request, and tells nobody.
    asked.once("upgrade", (_, socket) => {
      socket.destroy();
      refuse("an upgrade");
    });
    const unanswered = () => refuse("no whole answer");
    asked.once("close", unanswered);
    asked.on("error", reject).end();
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
 * Tells whether a Lease with the label names the Sandbox, has a holder, and was renewed within its duration. One without a
 * duration holds until it goes.
 *
 * @throws {Error} if the API server does not say
 */
export async function isHeld(api: Api, namespace: string, name: string, now: number): Promise<boolean> {
  const path = pathOf({ resource: "leases", namespace });
  const answer = await api.send({ method: "GET", path, query: { labelSelector: `${HOLD_LABEL}=${name}` } });
  const leases = answer.status === 200 ? leasesSchema.safeParse(answer.body).data : undefined;
  if (!leases) throw answerError(`list Leases that hold ${namespace}/${name}`, answer);
  return leases.items.some(({ metadata, spec }) => {
    if (metadata.labels?.[HOLD_LABEL] !== name || !spec?.holderIdentity) return false;
    const { renewTime, leaseDurationSeconds: seconds } = spec;
    const until = seconds ? Date.parse(renewTime ?? "") + seconds * 1000 : Infinity;
    return Number.isNaN(until) || until > now;
  });
}
