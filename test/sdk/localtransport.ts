/** A way to a runtime on loopback, and a sandbox of one folder behind it. @module */
import { onTestFinished } from "vitest";
import { createRuntimeClient, type RuntimeClient } from "../../packages/sdk/runtime/runtimeclient.ts";
import type { SandboxTransport } from "../../packages/sdk/transport/transport.ts";
import { send } from "../../packages/sdk/transport/send.ts";
import { makeRoot, type TestRoot } from "../runtime/folders.ts";
import { startTestRuntime } from "../runtime/servers.ts";

/** The sandbox that tests speak of. */
export const OBJECT = { kind: "Sandbox", namespace: "default", name: "test" };

/** A transport that takes every port for this one. */
export function localTransport(port: number): SandboxTransport {
  return {
    kind: "direct",
    fetch: async (_, path, request = {}) =>
      await send(new URL(path, `http://127.0.0.1:${port}`), request, { object: OBJECT, what: `port ${port}` }),
    address: (port) => Promise.resolve(new URL(`http://127.0.0.1:${port}`)),
    close: () => Promise.resolve(),
  };
}

/** A sandbox whose root has these files; it goes when the test ends. */
export async function aSandbox(
  files: Record<string, string> = {},
  ...args: string[]
): Promise<TestRoot & { runtimeClient: RuntimeClient; port: number; stop(): Promise<void> }> {
  const made = await makeRoot(files);
  const runtime = await startTestRuntime(made.root.path, ...args);
  onTestFinished(() => runtime.stop());
  const runtimeClient = createRuntimeClient(localTransport(runtime.restPort), OBJECT, undefined);
  return { ...made, runtimeClient, port: runtime.restPort, stop: () => runtime.stop() };
}
