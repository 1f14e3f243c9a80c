/** What one controller was shown and when it called its hook, in the order in which things happened. Pure. @module */
import { isObject } from "../../../lib/json.ts";
import type { KubeObject } from "../../../lib/objects.ts";
import { kindKey } from "../objectmap.ts";
import type { Run } from "./runs.ts";
import type { HookCall, Sighting } from "./traffic.ts";
import type { Course, Moment } from "./transcript.ts";

export interface CourseParts {
  controller: KubeObject;
  /** Of the run, as `<Kind>.<apiVersion>`. */
  kinds: ReadonlySet<string>;
  sightings: Sighting[];
  /** Calls of sync and finalize hooks in the run. */
  calls: HookCall[];
  /** Calls of the customize hook, whenever they were. */
  asked: HookCall[];
  hasFailed: (call: HookCall) => boolean;
}

/** Returns the course of a controller in a run, up to where its spec changed. */
export function courseOf(run: Run, { controller, kinds, sightings, calls, asked, hasFailed }: CourseParts): Course {
  const isOurs = ({ object, number }: Sighting) =>
    number <= run.to && kinds.has(kindKey(object)) && object.metadata.namespace === run.namespace;
  const shown = sightings.filter(isOurs);
  const { resourceVersion } = controller.metadata;
  const end = calls.find(({ body }) =>
    (body?.["controller"] as KubeObject).metadata.resourceVersion !== resourceVersion
  );
  const moments = [
    ...shown.map(({ number, at, object, gone }) => ({ number, moment: { at, shown: object, ...(gone && { gone }) } })),
    ...calls.map((call) => ({ number: call.number, moment: calledAt(call, hasFailed(call)) })),
  ].filter(({ number }) => number < (end?.number ?? Infinity)).sort((a, b) => a.number - b.number);
  const begin = moments[0]?.moment.at ?? 0;
  const uids = new Set(moments.flatMap(({ moment }) => "called" in moment ? [moment.called] : []));
  return {
    controller,
    moments: moments.map(({ moment }) => ({ ...moment, at: moment.at - begin })),
    customized: asked.flatMap(({ body, status, answer }) => {
      const { uid = "", generation = 0 } = (body?.["parent"] as KubeObject).metadata;
      return status === 200 && answer && uids.has(uid) ? [{ uid, generation, answer }] : [];
    }),
  };
}

function calledAt({ at, body, status, answer, retryAfter }: HookCall, failed: boolean): Moment {
  const { uid = "" } = ((body?.["parent"] ?? body?.["object"]) as KubeObject).metadata;
  const seconds = status === 429
    ? Number(retryAfter ?? 0)
    : isObject(answer)
    ? answer["resyncAfterSeconds"]
    : undefined;
  const again = failed
    ? 0
    : typeof seconds === "number" && (seconds > 0 || status === 429)
    ? seconds * 1000
    : undefined;
  return { at, called: uid, ...(again !== undefined && { again }) };
}
