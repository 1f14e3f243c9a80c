/** A runtime on loopback, and E2B's published client that is connected to its port for E2B. @module */
import { Sandbox } from "e2b";
import { onTestFinished } from "vitest";
import { makeTempFolder, useHome } from "../../tempfolder.ts";
import { startOpenRuntime } from "../servers.ts";

/** The version that the control API reports for this runtime. */
const VERSION = "0.6.13";
export const ID = "i0123456789abcdefghij";

/** Connects the published client to a port, without a control API. */
export function clientOf(port: number | undefined, envdAccessToken?: string): Sandbox {
  return new Sandbox({
    sandboxId: ID,
    envdVersion: VERSION,
    sandboxUrl: `http://127.0.0.1:${port}`,
    apiKey: "e2b_00",
    ...envdAccessToken === undefined ? {} : { envdAccessToken },
  });
}

/** Starts a runtime whose home directory is a new folder. It stops when the test ends. */
export async function startSandbox(...args: string[]) {
  const home = useHome();
  const runtime = await startOpenRuntime(makeTempFolder(), ...args);
  onTestFinished(() => runtime.stop());
  const port = runtime.envdPort ?? 0;
  return { runtime, port, home, sandbox: clientOf(port) };
}
