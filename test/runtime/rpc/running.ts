/** A client that runs code and gathers what comes of it, for tests. @module */
import { createClient } from "@connectrpc/connect";
import {
  ContextsService,
  type Result,
  type RunCodeRequest,
} from "../../../packages/runtime-api/gen/hookbox/runtime/v1/contexts_pb.ts";
import { aServer } from "./serving.ts";

type More = Pick<Partial<RunCodeRequest>, "contextId" | "language"> & { timeoutMs?: bigint };

/** Starts a runtime of its own. */
export async function aClient() {
  const server = await aServer();
  const client = createClient(ContextsService, server.transport);
  /** Runs code and gathers what comes of it. */
  const run = async (code: string, more: More = {}, options = {}) => {
    const all = {
      stdout: "",
      stderr: "",
      results: [] as Result[],
      error: "",
      traceback: "",
      count: 0,
      timedOut: false,
    };
    for await (const { event } of client.runCode({ code, ...more }, options)) {
      if (event.case === "stdout" || event.case === "stderr") all[event.case] += event.value;
      if (event.case === "result") all.results.push(event.value);
      if (event.case === "error") {
        all.error = `${event.value.name}: ${event.value.value}`;
        all.traceback = event.value.traceback;
      }
      if (event.case === "ended") [all.count, all.timedOut] = [event.value.executionCount, event.value.timedOut];
    }
    return all;
  };
  return { ...server, client, run };
}
