/** A runtime as a process that lets callers choose the user of each call. @module */
import { chmodSync } from "node:fs";
import process from "node:process";
import { expect, onTestFinished } from "vitest";
import { createCode } from "../../packages/sdk/code/code.ts";
import { createCommands } from "../../packages/sdk/commands/commands.ts";
import { createFiles } from "../../packages/sdk/files/files.ts";
import { createRuntimeClient } from "../../packages/sdk/runtime/runtimeclient.ts";
import { startMain } from "../mainprocess.ts";
import { localTransport, OBJECT } from "../sdk/localtransport.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { FREE_PORTS } from "./freeports.ts";

const IS_ROOT = process.getuid?.() === 0;
export const PORTS = ["--host", "127.0.0.1", ...FREE_PORTS];
export const TOKEN = "the-token";
/** The default user that tests choose. */
export const NOBODY = ["--user", "nobody"];

/**
 * Starts it. Callers may choose root and daemon. Undefined if this machine's user is not root, after a check that the
 * runtime then refuses to start.
 */
export async function startWithUsers(...more: string[]) {
  const workdir = makeTempFolder();
  chmodSync(workdir, 0o777);
  const place = more.includes("--root") ? [] : ["--workdir", workdir];
  const args = ["packages/runtime/main.ts", ...place, "--allow-users", "root,daemon", ...PORTS, ...more];
  if (!IS_ROOT) {
    await expect(startMain("node", args, "Listening")).rejects.toThrow("only root can switch");
    return undefined;
  }
  const main = await startMain("node", args, "Listening");
  onTestFinished(async () => void await main.stop());
  const [ports] = main.said("Listening") as [
    Record<"port" | "restPort" | "grpcPort" | "envdPort" | "interpreterPort", number>,
  ];
  const token = more.includes("--token-file") ? TOKEN : undefined;
  const client = createRuntimeClient(localTransport(ports.restPort), OBJECT, token);
  const commands = createCommands(client);
  return { ...main, ...ports, workdir, commands, files: createFiles(client), code: createCode(client), client };
}
