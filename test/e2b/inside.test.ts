/** What the control API reads from sandboxes, whose programs may answer anything. @module */
import { Buffer } from "node:buffer";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Sandbox } from "e2b";
import { expect, onTestFinished, test } from "vitest";
import type { E2BSandbox } from "../../packages/e2b/claim.ts";
import { createInside } from "../../packages/e2b/inside.ts";
import { createFakeApi } from "../kube/fakeapi.ts";
import { startE2B } from "./api.ts";

const METRICS = {
  ...{ ts: 1_800_000_000, cpu_count: 1, cpu_used_pct: 2, mem_used: 3, mem_total: 4, disk_used: 5, disk_total: 6 },
};

/** Reads metrics from a sandbox that answers by `answer`; returns them and the paths that were requested. */
async function metricsFrom(answer: (response: ServerResponse, path: string) => void) {
  const asked: string[] = [];
  const server = createServer(({ url = "" }, response) => {
    asked.push(url);
    answer(response, url);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const inside = createInside(createFakeApi(), () => [Buffer.alloc(32, 1)], url);
  const sandbox = { id: "a".repeat(20), namespace: "team-a", uid: "u", state: "running" } as E2BSandbox;
  return { metrics: await inside.metrics(sandbox), asked };
}

test("metrics are those of the sandbox; redirects, long answers and impossible times give none", async () => {
  const good = JSON.stringify(METRICS);
  const { metrics } = await metricsFrom((response) => response.end(good));
  expect(metrics).toMatchObject([{ timestampUnix: 1_800_000_000, diskTotal: 6 }]);
  const redirected = await metricsFrom((response, path) => {
    if (path === "/metrics") response.writeHead(302, { Location: "/elsewhere" });
    response.end(good);
  });
  expect(redirected).toEqual({ metrics: [], asked: ["/metrics"] });
  expect((await metricsFrom((response) => response.end(good + " ".repeat(1 << 20)))).metrics).toEqual([]);
  const late = JSON.stringify({ ...METRICS, ts: 1e300 });
  expect((await metricsFrom((response) => response.end(late))).metrics).toEqual([]);
});

test("a log since a time that no date can have is refused by the name of the parameter", async () => {
  const { apiUrl, options } = await startE2B();
  const { sandboxId } = await Sandbox.create("base", options);
  const ask = async (path: string) => {
    const answer = await fetch(`${apiUrl}${path}`, { headers: { "X-API-KEY": options.apiKey } });
    return { status: answer.status, body: await answer.json() };
  };
  const refusal = (name: string) => ({ code: 400, message: expect.stringContaining(`Parameter ${name} is not valid`) });
  expect(await ask(`/sandboxes/${sandboxId}/logs?start=9e15`)).toEqual({ status: 400, body: refusal("start") });
  expect(await ask(`/v2/sandboxes/${sandboxId}/logs?cursor=9e15`)).toEqual({ status: 400, body: refusal("cursor") });
});
