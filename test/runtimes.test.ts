/** Each hook as a process, on Node and on Deno; there with leave to listen on one port and nothing else. @module */
import { expect, test } from "vitest";
import { freePorts } from "../dev/cluster/ports.ts";
import { hookNames } from "../hooks/all.ts";
import { asDecoratorRequest } from "./golden.ts";
import { startMain } from "./mainprocess.ts";
import { aPoolRequest } from "./poolcalls.ts";
import { aClaim, aMember } from "./pools.ts";
import { aChild, aReadyPod, aRequest, aSandbox } from "./sandboxes.ts";
import { aTemplate, aTemplateRequest } from "./templates.ts";

const RUNTIMES = {
  node: () => [],
  deno: (port: number) => ["run", "--no-prompt", "--cached-only", `--allow-net=127.0.0.1:${port}`],
};
const REQUESTS: Record<string, object> = {
  sandbox: aRequest(aSandbox({ spec: { service: true } }), [aReadyPod(), aChild("Service")]),
  sandboxclaim: asDecoratorRequest({
    parent: aClaim("c"),
    children: { "Sandbox.agents.x-k8s.io/v1beta1": {} },
    related: {},
    finalizing: false,
  }),
  sandboxtemplate: aTemplateRequest(aTemplate()),
  sandboxwarmpool: aPoolRequest({ sandboxes: [aMember(1)] }),
};
const FLAGS = ["--cluster-domain", "c.example", "--max-batch-size", "1"];
/** What of an answer is so for these flags alone. */
const FLAGGED: Record<string, object> = {
  sandbox: { status: { serviceFQDN: "demo.team-a.svc.c.example" } },
  sandboxwarmpool: { children: [{}, {}] },
};
const cases = hookNames.flatMap((hook) => (["node", "deno"] as const).map((runtime) => ({ hook, runtime })));

test.for(cases)("hook $hook on $runtime answers and stops cleanly", async ({ hook, runtime }) => {
  const [port = 0] = await freePorts(1);
  const args = [...RUNTIMES[runtime](port), `hooks/${hook}/main.ts`, "--host", "127.0.0.1", "--port", String(port)];
  const { stop } = await startMain(runtime, [...args, ...FLAGS], "Listening");
  const ask = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${port}${path}`, init);
  const sync = { method: "POST", body: JSON.stringify(REQUESTS[hook]) };
  expect((await ask("/healthz")).status).toBe(200);
  for (const path of ["/sync", `/${hook}/sync`]) {
    const answer = await ask(path, sync);
    expect([path, answer.status, await answer.json()]).toMatchObject([path, 200, FLAGGED[hook] ?? {}]);
  }
  expect(await (await ask("/metrics")).text()).toContain(`{hook="${hook}"`);
  const refused = [await ask("/sync"), await ask("/sync", { ...sync, body: "{}" }), await ask("/other/sync", sync)];
  expect(refused.map(({ status }) => status)).toEqual([405, 400, 404]);
  expect(await stop()).toBe(0);
});
