/** Hooks take options from the environment, on Deno only what they may read, and do without where they may not. @module */
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { freePorts } from "../../dev/cluster/ports.ts";
import { startMain } from "../mainprocess.ts";

const VARIABLE = "HOOKBOX_TEMPLATE_NETWORK_POLICY";

/** Starts the hook for pools with a variable that makes no sense: it ends if it sees it. */
async function start(runtime: "node" | "deno", message: string | undefined, ...permissions: string[]) {
  process.env[VARIABLE] = "maybe\n";
  onTestFinished(() => void delete process.env[VARIABLE]);
  const [port = 0] = await freePorts(1);
  const deno = ["run", "--no-prompt", "--cached-only", `--allow-net=127.0.0.1:${port}`, ...permissions];
  const flags = ["hooks/sandboxwarmpool/main.ts", "--host", "127.0.0.1", "--port", String(port)];
  return await startMain(runtime, [...runtime === "deno" ? deno : [], ...flags], message);
}

test.for(["node", "deno"] as const)(
  "on %s a hook takes an option from its variable, and an error names it",
  async (runtime) => {
    const hook = await start(runtime, undefined, `--allow-env=${VARIABLE}`);
    expect(await hook.ended).toBe(2);
    expect(hook.log()).toBe(`Cannot use ${VARIABLE} "maybe": use required or optional\n`);
  },
);

test("a hook that Deno does not let read variables starts without them", async () => {
  const hook = await start("deno", "Listening");
  expect(await hook.stop()).toBe(0);
});
