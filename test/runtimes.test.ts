/** Each hook as a process, on Node and on Deno; there with leave to listen on one port and nothing else. @module */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { freePorts } from "../dev/cluster/ports.ts";
import { hookNames } from "../tools/serve/hooks.ts";
import { asDecoratorRequest } from "./golden.ts";
import { aPoolRequest } from "./poolcalls.ts";
import { aClaim, aMember } from "./pools.ts";
import { aRequest, aSandbox } from "./sandboxes.ts";
import { aTemplate, aTemplateRequest } from "./templates.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const RUNTIMES = {
  node: () => [],
  deno: (port: number) => ["run", "--no-prompt", "--cached-only", `--allow-net=127.0.0.1:${port}`],
};
const REQUESTS: Record<string, object> = {
  sandbox: aRequest(aSandbox()),
  sandboxclaim: asDecoratorRequest({
    parent: aClaim("c"),
    children: { "Sandbox.agents.x-k8s.io/v1beta1": {} },
    related: {},
    finalizing: false,
  }),
  sandboxtemplate: aTemplateRequest(aTemplate()),
  sandboxwarmpool: aPoolRequest({ sandboxes: [aMember(1)], claims: [aClaim("c")] }),
};
const cases = hookNames.flatMap((hook) => (["node", "deno"] as const).map((runtime) => ({ hook, runtime })));

test.for(cases)("hook $hook on $runtime answers and stops cleanly", { timeout: 60_000 }, async ({ hook, runtime }) => {
  const [port = 0] = await freePorts(1);
  const args = [...RUNTIMES[runtime](port), `hooks/${hook}/main.ts`, "--host", "127.0.0.1", "--port", String(port)];
  const child = spawn(`${ROOT}node_modules/.bin/${runtime}`, args, { cwd: ROOT, stdio: ["ignore", "ignore", "pipe"] });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (part) => errors += part);
  try {
    await listening(child, () => errors);
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
    const answer = await fetch(`http://127.0.0.1:${port}/sync`, {
      method: "POST",
      body: JSON.stringify(REQUESTS[hook]),
    });
    expect([answer.status, await answer.json()]).toMatchObject([200, {}]);
    expect(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()).toContain(`{hook="${hook}"`);
  } finally {
    child.kill("SIGTERM");
  }
  expect(await exited(child)).toBe(0);
});

function listening(child: ChildProcess, errors: () => string): Promise<void> {
  return new Promise((resolve, reject) => {
    child.stderr?.on("data", () => errors().includes('"Listening"') && resolve());
    child.once("exit", (code) => reject(new Error(`ended with ${code}: ${errors()}`)));
  });
}

function exited(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((resolve) => child.once("exit", (code) => resolve(code)));
}
