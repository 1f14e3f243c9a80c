/** The chart's policy refuses the same Pods in the release's namespace as Pod Security "restricted" with a label. @module */
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { template, templateOn } from "./chart.ts";
import { attempt, run, until } from "./kubectl.ts";
import { type Loose, makeNamespace } from "./namespace.ts";
import { type BareCluster, shared } from "./shared.ts";

let cluster: BareCluster;
beforeAll(async () => cluster = await shared("bare"));

const SAFE = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } };
const CONTEXT = { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } };
const container = (over: Loose = {}, context: Loose = {}) => ({
  ...{ name: "main", image: "busybox", securityContext: { ...SAFE, ...context }, ...over },
});
/** A Pod as it should be, but for this. */
const pod = (spec: Loose = {}, context: Loose = {}, metadata: Loose = {}) => ({
  ...{ apiVersion: "v1", kind: "Pod", metadata: { name: "p", ...metadata } },
  spec: { securityContext: { ...CONTEXT, ...context }, containers: [container()], ...spec },
});
const only = (over: Loose, context: Loose = {}) => pod({ containers: [container(over, context)] });

const PODS: [what: string, pod: Loose][] = [
  ["as it should be", pod()],
  [
    "each container by itself",
    pod({ containers: [container({}, CONTEXT)] }, { runAsNonRoot: null, seccompProfile: null }),
  ],
  ["localhost's seccomp", pod({}, { seccompProfile: { type: "Localhost", localhostProfile: "a" } })],
  ["NET_BIND_SERVICE", only({}, { capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] } })],
  [
    "volumes that are allowed",
    pod({ volumes: [{ name: "a", emptyDir: {} }, { name: "b", secret: { secretName: "s" } }] }),
  ],
  ["a safe sysctl", pod({}, { sysctls: [{ name: "net.ipv4.tcp_syncookies", value: "1" }] })],
  ["no security context at all", pod({ securityContext: null, containers: [{ name: "main", image: "busybox" }] })],
  ["the node's network", pod({ hostNetwork: true })],
  ["the node's processes", pod({ hostPID: true })],
  ["the node's IPC", pod({ hostIPC: true })],
  ["a port of the node", only({ ports: [{ containerPort: 80, hostPort: 80 }] })],
  ["a path of the node", pod({ volumes: [{ name: "a", hostPath: { path: "/" } }] })],
  ["NFS", pod({ volumes: [{ name: "a", nfs: { server: "s", path: "/" } }] })],
  ["privileged", only({}, { privileged: true, allowPrivilegeEscalation: null })],
  ["escalation", only({}, { allowPrivilegeEscalation: true })],
  ["escalation by default", only({}, { allowPrivilegeEscalation: null })],
  ["capabilities not dropped", only({}, { capabilities: null })],
  ["SYS_ADMIN", only({}, { capabilities: { drop: ["ALL"], add: ["SYS_ADMIN"] } })],
  ["root allowed", pod({}, { runAsNonRoot: null })],
  ["root allowed in one container", only({}, { runAsNonRoot: false })],
  ["user 0", pod({}, { runAsUser: 0 })],
  ["user 0 in one container", only({}, { runAsUser: 0 })],
  ["no seccomp", pod({}, { seccompProfile: null })],
  ["unconfined by seccomp", pod({}, { seccompProfile: { type: "Unconfined" } })],
  ["unconfined in one container", only({}, { seccompProfile: { type: "Unconfined" } })],
  ["another sysctl", pod({}, { sysctls: [{ name: "kernel.msgmax", value: "1" }] })],
  ["another SELinux type", pod({}, { seLinuxOptions: { type: "spc_t" } })],
  ["another SELinux user in one container", only({}, { seLinuxOptions: { user: "u" } })],
  ["unconfined by AppArmor", pod({}, { appArmorProfile: { type: "Unconfined" } })],
  [
    "an init container that is privileged",
    pod({ initContainers: [container({ name: "i" }, { privileged: true, allowPrivilegeEscalation: null })] }),
  ],
  ["a probe of another host", only({ livenessProbe: { httpGet: { host: "10.0.0.1", port: 80 } } })],
  ["a hook of another host", only({ lifecycle: { preStop: { tcpSocket: { host: "10.0.0.1", port: 80 } } } })],
];

test("a namespace that Helm made refuses the Pods that one with the label refuses, and no others", async () => {
  const [labelled, made, other] = await Promise.all([1, 2, 3].map(() => makeNamespace(cluster)));
  await run(cluster, ["label", "namespace", labelled!.name, "pod-security.kubernetes.io/enforce=restricted"]);
  const objects = await template("--namespace", made!.name);
  const policy = objects.filter(({ metadata }) => metadata.name === "hookbox-pod-security");
  expect(policy).toHaveLength(2);
  const text = JSON.stringify({ apiVersion: "v1", kind: "List", items: policy });
  await run(cluster, ["apply", "-f", "-"], text);
  onTestFinished(async () => void await run(cluster, ["delete", "-f", "-"], text));
  for (const { name } of [labelled!, made!, other!]) {
    await attempt(cluster, ["-n", name, "create", "serviceaccount", "default"]);
  }
  const create = (namespace: string, object: Loose) =>
    attempt(cluster, ["-n", namespace, "create", "--dry-run=server", "-f", "-"], JSON.stringify(object));
  const privileged = only({}, { privileged: true, allowPrivilegeEscalation: null });
  await until(() => create(made!.name, privileged), ({ stderr }) => stderr.includes("hookbox-pod-security"));
  expect((await create(other!.name, privileged)).code, "another namespace is not its concern").toBe(0);
  const verdicts: Record<string, boolean[]> = {};
  for (const [what, object] of PODS) {
    const both = await Promise.all([labelled!, made!].map(({ name }) => create(name, object)));
    verdicts[what] = both.map(({ code }) => code === 0);
    for (const { code, stderr } of both) {
      if (code !== 0) expect(stderr, what).toMatch(/PodSecurity|hookbox-pod-security/);
    }
  }
  expect(Object.entries(verdicts).filter(([, [label, ours]]) => label !== ours)).toEqual([]);
  expect(Object.values(verdicts).filter(([label]) => label)).toHaveLength(6);
});

test("a label overrides it, and an option turns it off", async () => {
  const { name } = await makeNamespace(cluster);
  const isPolicy = ({ metadata }: Loose) => metadata.name === "hookbox-pod-security";
  const live = async () => (await templateOn(cluster, "--namespace", name)).filter(isPolicy).length;
  const rendered = async (...args: string[]) => (await template(...args)).filter(isPolicy).length;
  expect(await live()).toBe(2);
  await run(cluster, ["label", "namespace", name, "pod-security.kubernetes.io/enforce=baseline"]);
  expect(await live()).toBe(0);
  expect(await rendered("--namespace", "default")).toBe(0);
  expect(await rendered("--set", "podSecurity.enforce=false")).toBe(0);
});
