/** Counts requests with the counters of an API server that the bench has not started. @module */
import { readSamples } from "./prometheus.ts";
import { createTally, type RequestLog } from "./requestlog.ts";

/** Reads the counters of an API server that the bench has not started. They do not tell who sent the requests. */
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
