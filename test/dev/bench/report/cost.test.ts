/** @module */
import { expect, test } from "vitest";
import { costOf, type RequestRate } from "../../../../dev/bench/report/rows.ts";

const asks = (verb: string, client?: string): RequestRate => ({
  ...(client === undefined ? {} : { client }),
  verb,
  resource: "sandboxes",
  perObject: 1,
});

test.for([
  { verb: "create", writes: 1, reads: 0 },
  { verb: "update", writes: 1, reads: 0 },
  { verb: "patch", writes: 1, reads: 0 },
  { verb: "apply", writes: 1, reads: 0 },
  { verb: "delete", writes: 1, reads: 0 },
  { verb: "deletecollection", writes: 1, reads: 0 },
  { verb: "get", writes: 0, reads: 1 },
  { verb: "list", writes: 0, reads: 1 },
  { verb: "watch", writes: 0, reads: 1 },
  { verb: "connect", writes: 0, reads: 0 },
])("costOf() takes $verb for $writes writes and $reads reads", ({ verb, writes, reads }) => {
  expect(costOf({ requests: [asks(verb, "engine")], processes: [] })).toMatchObject({ writes, reads });
});

test.for([
  ...["load", "kube-scheduler", "kwok", "kubelet", "kube-controller-manager"].map((client) => ({ client, count: 0 })),
  ...["engine", "keeper", "agent-sandbox-controller"].map((client) => ({ client, count: 1 })),
  { client: undefined, count: 1 },
])("costOf() counts $count of the requests of $client", ({ client, count }) => {
  const requests = [asks("patch", client), asks("get", client)];
  expect(costOf({ requests, processes: [] })).toMatchObject({ writes: count, reads: count });
});

test("costOf() adds up CPU and the peaks of memory of the implementation's processes alone", () => {
  const hooks = ["sandbox", "sandboxclaim", "sandboxtemplate", "sandboxwarmpool"];
  const names = [...hooks, "engine", "keeper", "peer", "etcd", "kube-apiserver", "load"];
  const processes = names.map((name, index) => ({
    name,
    cpuSeconds: 0,
    cpuMsPerObject: 10 ** index,
    rssMiB: 0,
    peakMiB: 2 * 10 ** index,
  }));
  expect(costOf({ requests: [], processes })).toMatchObject({
    cpu: 1_111_111,
    clusterCPU: 110_000_000,
    memory: 2_222_222,
  });
});

test("costOf() tells what was not measured from what cost nothing", () => {
  expect(costOf({ requests: [], processes: [] })).toEqual({
    writes: undefined,
    reads: undefined,
    cpu: undefined,
    clusterCPU: undefined,
    memory: undefined,
  });
});
