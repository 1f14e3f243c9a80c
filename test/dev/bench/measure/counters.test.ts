/** @module */
import { expect, test } from "vitest";
import { countedRequests } from "../../../../dev/bench/measure/requests.ts";

test("countedRequests() gives what the counters grew by, without who asked", async () => {
  const metrics = (puts: number) =>
    [
      "# HELP apiserver_request_total Counter",
      `apiserver_request_total{code="200",component="apiserver",resource="sandboxes",subresource="status",verb="PUT"} ${puts}`,
      `apiserver_request_total{code="201",resource="pods",subresource="",verb="POST"} 4`,
      `apiserver_request_duration_seconds_count{resource="pods",verb="POST"} 9`,
    ].join("\n");
  let puts = 3;
  const requests = countedRequests(() => Promise.resolve(metrics(puts)));
  await requests.begin();
  puts = 10;
  expect(await requests.end()).toEqual([{ verb: "update", resource: "sandboxes/status", code: 200, count: 7 }]);
});
