/** Lists, in the order of time, what one controller received and when it called its hook. @module */
import type { KubeObject } from "../../../packages/api/objects/objects.ts";
import { kindKey } from "../../../packages/testing/metacontroller/children.ts";
import type { Run } from "./runs.ts";
import type { Cut } from "./segment.ts";
import type { HookCall, Sighting } from "./traffic.ts";
import type { Course, Moment } from "./transcript.ts";

export interface CourseParts {
  controller: KubeObject;
  /** The kinds of the run, as `<Kind>.<apiVersion>`. */
  kinds: ReadonlySet<string>;
  sightings: Sighting[];
  /** The syncs of the run. */
  cuts: Cut[];
  /** All calls of the customize hook. */
  asked: HookCall[];
  failed: ReadonlySet<Cut>;
}

/** Returns the course of a controller in a run, until its spec changed. */
export function courseOf(run: Run, { controller, kinds, sightings, cuts, asked, failed }: CourseParts): Course {
  const isOurs = ({ object, number }: Sighting) =>
    number <= run.to && kinds.has(kindKey(object)) && object.metadata.namespace === run.namespace;
  const shown = sightings.filter(isOurs);
  const { resourceVersion } = controller.metadata;
  const end = cuts.find(({ call }) =>
    (call.body?.["controller"] as KubeObject).metadata.resourceVersion !== resourceVersion
  );
  const moments = [
    ...shown.map(({ number, at, object, gone }) => ({ number, moment: { at, shown: object, ...(gone && { gone }) } })),
    ...cuts.map((cut) => ({ number: beginOf(cut).number, moment: momentOf(cut, failed.has(cut)) })),
  ].filter(({ number }) => !end || number < beginOf(end).number).sort((a, b) => a.number - b.number);
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

/** Returns the beginning of a sync. Its writes before the hook call are shown to it at once, and are not its cause. */
function beginOf({ before, call }: Cut): { number: number; at: number } {
  return before[0] ?? call;
}

function momentOf(cut: Cut, failed: boolean): Moment {
  const { body, status, answer, retryAfter } = cut.call;
  const { uid = "" } = ((body?.["parent"] ?? body?.["object"]) as KubeObject).metadata;
  const moment = { at: beginOf(cut).at, called: uid };
  if (failed) return { ...moment, again: 0 };
  if (status === 429) return { ...moment, again: Number(retryAfter ?? 0) * 1000 };
  const seconds = Number(answer?.["resyncAfterSeconds"] ?? 0);
  return seconds > 0 ? { ...moment, again: seconds * 1000 } : moment;
}
