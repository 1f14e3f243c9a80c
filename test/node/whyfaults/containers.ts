/** Faults that only a kubelet can show: images, configuration, crashes, probes. @module */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname } from "node:path";
import process from "node:process";
import { readRecord } from "../../../dev/cluster/state.ts";
import { type Namespace, sleeper } from "../../integration/namespace.ts";
import { container, type Fault, podFault } from "./fault.ts";

const onKubelet = (name: string, code: Fault["code"], culprit: string, podSpec: object): Fault =>
  podFault(name, code, culprit, podSpec, { needs: "kubelet" });
const env = (valueFrom: object) => container({ env: [{ name: "A", valueFrom }] });
/** Never Ready, not even for the moment before the script ends. */
const NOT_YET = { readinessProbe: { exec: { command: ["false"] }, initialDelaySeconds: 600 } };
const runs = (script: string, more: object = NOT_YET) => container({ command: ["sh", "-c", script], ...more });

/** Answers every question about an image with the status that it is given, and prints its port. */
const REGISTRY = `
const status = Number(process.argv[1]);
const server = require("node:http").createServer((request, response) => {
  const isVersion = request.url === "/v2/";
  response.writeHead(isVersion ? 200 : status, { "Content-Type": "application/json" });
  response.end(isVersion ? "{}" : JSON.stringify({ errors: [{ code: "UNKNOWN" }] }));
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
`;

/** A registry on the node's own loopback, where containerd asks for no TLS. */
function registryFault(name: string, code: Fault["code"], status: number): Fault {
  const make = async (ns: Namespace, atEnd: (end: () => Promise<void>) => void) => {
    const node = readRecord(dirname(ns.cluster.kubeconfig))?.realNode?.container;
    const inside = ["--net", "--target", String(node?.first.pid), "--", process.execPath, "-e", REGISTRY];
    const registry = spawn("nsenter", [...inside, String(status)], { stdio: ["ignore", "pipe", "inherit"] });
    atEnd(async () => {
      registry.kill();
      await once(registry, "close");
    });
    const [port] = await once(registry.stdout.setEncoding("utf8"), "data");
    await ns.apply(sleeper(name, {}, container({ image: `127.0.0.1:${port.trim()}/team/tool:1` })));
  };
  return { name, subject: `sandbox/${name}`, code, culprit: `Pod/${name}`, needs: "kubelet", make };
}

/** With namespace and UID it is too long for the folder of the Pod's logs. */
const LONG = "long".repeat(54);

export const CONTAINER_FAULTS: Fault[] = [
  onKubelet(LONG, "PodNameTooLong", `Pod/${LONG}`, container({})),
  onKubelet("bad-name", "InvalidImageName", "Pod/bad-name", container({ image: "BAD::NAME" })),
  onKubelet("no-registry", "ImagePullFailed", "Pod/no-registry", container({ image: "127.0.0.1:1/team/tool:1" })),
  registryFault("not-there", "ImageNotFound", 404),
  registryFault("not-mine", "ImageUnauthorized", 401),
  onKubelet("never", "ImageNotPresent", "Pod/never", container({ image: "tool:1", imagePullPolicy: "Never" })),
  onKubelet("no-secret", "SecretNotFound", "Secret/keys", env({ secretKeyRef: { name: "keys", key: "a" } })),
  onKubelet("no-map", "ConfigMapNotFound", "ConfigMap/settings", {
    ...container({ volumeMounts: [{ name: "v", mountPath: "/v" }] }),
    volumes: [{ name: "v", configMap: { name: "settings" } }],
  }),
  onKubelet(
    "no-key",
    "KeyNotFound",
    "ConfigMap/kube-root-ca.crt",
    env({ configMapKeyRef: { name: "kube-root-ca.crt", key: "absent" } }),
  ),
  onKubelet("root", "RunAsNonRoot", "Pod/root", container({ securityContext: { runAsNonRoot: true } })),
  onKubelet("crash", "CrashLoop", "Pod/crash", runs("echo no config; exit 3")),
  onKubelet("no-command", "ContainerStartFailed", "Pod/no-command", container({ command: ["/nowhere"] })),
  onKubelet(
    "unready",
    "ProbeFailing",
    "Pod/unready",
    runs("sleep 86400", { readinessProbe: { exec: { command: ["false"] }, periodSeconds: 1 } }),
  ),
  onKubelet(
    "unwell",
    "ProbeFailing",
    "Pod/unwell",
    runs("sleep 86400", {
      ...NOT_YET,
      livenessProbe: { exec: { command: ["false"] }, periodSeconds: 1, failureThreshold: 1 },
    }),
  ),
  onKubelet("setup", "CrashLoop", "Pod/setup", {
    initContainers: [{ name: "setup", image: "busybox:1.37", command: ["sh", "-c", "exit 4"] }],
  }),
  onKubelet("done", "PodSucceeded", "Pod/done", { ...runs("exit 0"), restartPolicy: "Never" }),
  onKubelet("failed", "PodFailed", "Pod/failed", { ...runs("exit 3"), restartPolicy: "Never" }),
  onKubelet("gate", "ReadinessGateWaiting", "Pod/gate", { readinessGates: [{ conditionType: "example.com/lb" }] }),
];
