/** @module */
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { auditedRequest, auditedRequests } from "../../../../dev/bench/measure/requests.ts";
import { hurry } from "../../../hurry.ts";
import { makeTempFolder } from "../../../tempfolder.ts";

const LINE = {
  stage: "ResponseComplete",
  verb: "update",
  userAgent: "metacontroller/v4.17.2 (linux/amd64)",
  objectRef: { resource: "sandboxes", subresource: "status" },
  responseStatus: { code: 200 },
};

test.for([
  { name: "a request of Metacontroller", change: {}, want: { client: "engine", resource: "sandboxes/status" } },
  { name: "of the fake Metacontroller, which has no name", change: { userAgent: "" }, want: { client: "engine" } },
  {
    name: "of the load, which runs a command",
    change: { userAgent: "", objectRef: { resource: "pods", subresource: "exec" } },
    want: { client: "load", resource: "pods/exec" },
  },
  { name: "of the keeper", change: { userAgent: "hookbox-keeper" }, want: { client: "keeper" } },
  { name: "of the load", change: { userAgent: "hookbox-bench" }, want: { client: "load" } },
  { name: "of somebody else", change: { userAgent: "kube-scheduler/v1.36.3 (x)" }, want: { client: "kube-scheduler" } },
  { name: "without a subresource", change: { objectRef: { resource: "pods" } }, want: { resource: "pods" } },
  { name: "of no resource", change: { objectRef: undefined }, want: { resource: "other" } },
  { name: "that was refused", change: { responseStatus: { code: 409 } }, want: { code: 409 } },
])("auditedRequest() reads a line: $name", ({ change, want }) => {
  const read = auditedRequest(JSON.stringify({ ...LINE, ...change }));
  expect(read).toEqual({ client: "engine", verb: "update", resource: "sandboxes/status", code: 200, ...want });
});

test("auditedRequest() counts a request once, when it is answered", () => {
  expect(auditedRequest(JSON.stringify({ ...LINE, stage: "RequestReceived" }))).toBeUndefined();
});

test("auditedRequests() counts what came after the beginning, most first", async () => {
  hurry(20);
  const file = join(makeTempFolder(), "audit.log");
  const line = (verb: string) => `${JSON.stringify({ ...LINE, verb })}\n`;
  writeFileSync(file, line("create"));
  const requests = auditedRequests(file);
  await requests.begin();
  appendFileSync(file, line("get") + line("update") + line("update"));
  const counts = await requests.end();
  expect(counts.map(({ verb, count }) => [verb, count])).toEqual([["update", 2], ["get", 1]]);
});
