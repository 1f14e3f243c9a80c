/** OpenHands' workspace in a sandbox, by the test that comes with its package. @module */
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { type Packages, pythonWith } from "../clients/python.ts";
import { aPool, aTemplate, untilFull } from "../integration/pools.ts";
import { makeTempFolder } from "../tempfolder.ts";
import type { Checks, Consumer } from "./consumer.ts";
import { hostFolders, PROGRAMS, say, type Stage } from "./stage.ts";

const PACKAGES: Packages = {
  name: "openhands",
  label: "OpenHands' workspace",
  requirements: fileURLToPath(new URL("requirements-openhands.txt", import.meta.url)),
  atLeast: 12,
};

/** The row of OpenHands. */
export const OPENHANDS: Consumer[] = [{
  client: "openhands-workspace[agent-sandbox]",
  version: "1.58.2",
  way: "smoke test of the package, port-forward to the Pod (default)",
  runs: "npm run soak -- consumers",
  note: "A small program answers like OpenHands' agent server. `/workspace` is a volume.",
  run: work,
}];

async function work({ ns, here, image }: Stage): Promise<Checks> {
  const python = await pythonWith(PACKAGES, say);
  const { volumes, volumeMounts } = await hostFolders(here, python);
  // The node is this machine. The folder stays when the Pod of a suspended sandbox is deleted.
  const kept = { name: "workspace", hostPath: { path: makeTempFolder() } };
  const container = {
    name: "main",
    image,
    command: ["python3", "-B", join(PROGRAMS, "openhands_agent_server.py")],
    ports: [{ containerPort: 8000 }],
    readinessProbe: { httpGet: { path: "/health", port: 8000 }, periodSeconds: 1 },
    securityContext: { runAsUser: 0 },
    volumeMounts: [...volumeMounts, { name: kept.name, mountPath: "/workspace" }],
  };
  const podSpec = { terminationGracePeriodSeconds: 1, containers: [container], volumes: [...volumes, kept] };
  await ns.apply(aTemplate("openhands", {}, podSpec), aPool("openhands", 1));
  await untilFull(ns, "openhands");
  const args = ["-m", "openhands.workspace.agent_sandbox.testing.smoke_test"];
  const env = { AGENT_SANDBOX_WARMPOOL: "openhands", AGENT_SANDBOX_NAMESPACE: ns.name };
  const said = await here(python, args, { env, anyhow: true });
  const passed = said.includes("SMOKE TEST PASSED");
  return { "smoke test": passed ? "ok" : said.trimEnd().split("\n").at(-1) ?? "no output" };
}
