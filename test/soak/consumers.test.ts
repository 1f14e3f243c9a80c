/** Published clients and integrations on an installation by Helm, with the image that ships. @module */
import { execFile } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe } from "vitest";
import { type Registry, startRegistry } from "../../dev/containerfiles/registry.ts";
import { CONSUMERS, testConsumers } from "../consumers/consumers.ts";
import { hasRealNode } from "../integration/suite.ts";
import { installedBy } from "../node/installed.ts";

const BUILD = fileURLToPath(new URL("../../dev/containerfiles/main.ts", import.meta.url));
const MINUTE = 60_000;

describe.runIf(hasRealNode)("published clients", () => {
  const installed = installedBy("helm", []);
  let registry: Registry;
  beforeAll(async () => {
    const { stateDir } = installed.cluster();
    registry = await startRegistry(stateDir, AbortSignal.timeout(5 * MINUTE));
    const args = [BUILD, "agent", "--out", join(stateDir, "agent.tar"), "--push", registry.address];
    await promisify(execFile)(process.execPath, args);
  }, 30 * MINUTE);
  afterAll(() => registry?.stop());

  testConsumers(installed, () => `${registry.address}/hookbox-agent:local`, CONSUMERS);
});
