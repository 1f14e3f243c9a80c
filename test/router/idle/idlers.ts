/** One idle Sandbox with a Ready Pod in an API in memory, and routers that check it only when the test says so. @module */
import { createIdler } from "../../../packages/router/idle/idler.ts";
import { readPod, readSandbox } from "../../../packages/router/index/records.ts";
import { createSandboxIndex } from "../../../packages/router/index/sandboxindex.ts";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { underRole } from "../../rights.ts";
import { PODS, putPod, putSandbox, SANDBOXES, startBackend } from "../stage.ts";

export const TARGET = { namespace: "team-a", name: "demo", port: 80 };
export const key = (name: string) => `router.agents.x-k8s.io/${name}`;
export const ready = {
  conditions: [{ type: "Ready", status: "True", reason: "r", message: "", lastTransitionTime: "2020-01-01T00:00:00Z" }],
};

/** Makes them; `activity` answers for the Sandbox's runtime. */
export async function startIdlers(annotations: object = {}, activity?: () => object) {
  const api = createFakeApi();
  const creationTimestamp = "2020-01-01T00:00:00Z";
  const metadata = { creationTimestamp, annotations: { [key("idle-seconds")]: "60", ...annotations } };
  putSandbox(api, "demo", { metadata, status: ready });
  putPod(api);
  const runtime = activity && await startBackend((_, answer) => answer.end(JSON.stringify(activity())));
  const suspended: string[] = [];
  const make = (identity: string) => {
    const index = createSandboxIndex();
    const sync = () => {
      const sandbox = readSandbox(api.get(`${SANDBOXES}/demo`));
      if (sandbox) index.sandboxes.observe(sandbox);
      const pod = readPod(api.get(`${PODS}/demo`), true);
      if (pod) index.pods.observe(pod);
    };
    sync();
    const idler = createIdler({
      api: underRole(api, "router"),
      index,
      identity,
      idle: true,
      log: () => {},
      idleCheckInterval: 1000,
      runtimePort: runtime?.port ?? 1,
      onSuspended: (_, reason) => suspended.push(reason),
    });
    return { ...idler, sync };
  };
  const mode = () => (api.get(`${SANDBOXES}/demo`)?.["spec"] as { operatingMode: string }).operatingMode;
  const annotation = (name: string) => api.get(`${SANDBOXES}/demo`)?.metadata.annotations?.[key(name)];
  return { api, make, mode, annotation, suspended };
}
