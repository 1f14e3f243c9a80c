/** Requests by the counters of an API server that is not ours. @module */
import { readSamples } from "./prometheus.ts";
import { createTally, type RequestLog } from "./requestlog.ts";

/** Reads the counters of an API server that is not ours: they do not tell who asked. */
export function countedRequests(metrics: () => Promise<string>): RequestLog {
  let before = createTally();
  const read = async () => {
    const tally = createTally();
    for (const { labels, value } of readSamples(await metrics(), ["apiserver_request_total"])) {
      const { resource = "", subresource = "", verb = "", code } = labels;
      const name = subresource ? `${resource}/${subresource}` : resource || "other";
      tally.add({ verb: VERBS[verb] ?? verb.toLowerCase(), resource: name, code: Number(code) }, value);
    }
    return tally;
  };
  return {
    begin: async () => void (before = await read()),
    end: async () => {
      const after = await read();
      for (const { count, ...request } of before.list()) after.add(request, -count);
      return after.list();
    },
  };
}

const VERBS: Record<string, string> = {
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  APPLY: "patch",
  DELETE: "delete",
};
