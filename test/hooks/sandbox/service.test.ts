/** @module */
import { expect, test } from "vitest";
import { buildPod } from "../../../hooks/sandbox/pod.ts";
import { buildService, keepService, servicePorts } from "../../../hooks/sandbox/service.ts";
import { CONTROLLER_UID_LABEL, NAME_HASH_LABEL } from "../../../packages/api/objects/keys.ts";
import { nameHash } from "../../../packages/api/objects/names.ts";
import { aChild, aSandbox } from "../../sandboxes.ts";

const container = (name: string, ...ports: object[]) => ({ name, image: "x", ports });
const cases = [
  { name: "no ports", reason: "valid for a headless Service", containers: [container("a")], want: [] },
  {
    name: "sorted by number, then protocol",
    reason: "the order of containers says nothing",
    containers: [container("a", { containerPort: 90 }, { containerPort: 53, protocol: "UDP" }, { containerPort: 53 })],
    want: [[53, "TCP", "p-53-tcp"], [53, "UDP", "p-53-udp"], [90, "TCP", "p-90-tcp"]],
  },
  {
    name: "the first name counts",
    reason: "two containers may declare one port",
    containers: [
      container("a", { containerPort: 80 }),
      container("b", { containerPort: 80, name: "web" }),
      container("c", { containerPort: 80, name: "late" }),
    ],
    want: [[80, "TCP", "web"]],
  },
  {
    name: "a name that is taken is passed over",
    reason: "names are unique in a Service",
    containers: [
      container("a", { containerPort: 80, name: "web" }),
      container("b", { containerPort: 81, name: "web" }, { containerPort: 81, name: "alt" }),
    ],
    want: [[80, "TCP", "web"], [81, "TCP", "alt"]],
  },
  {
    name: "a name that two ports bear goes to the first container's, whatever their numbers",
    reason: "the contract names ports in the order of containers, and sorts them then",
    containers: [
      container("a", { containerPort: 9000, name: "http" }),
      container("b", { containerPort: 80, name: "http" }),
    ],
    want: [[80, "TCP", "p-80-tcp"], [9000, "TCP", "http"]],
  },
  {
    name: "a generated name that is taken gets a number",
    reason: "somebody may have used our pattern",
    containers: [container("a", { containerPort: 70, name: "p-80-tcp" }, { containerPort: 80 })],
    want: [[70, "TCP", "p-80-tcp"], [80, "TCP", "p-80-tcp-2"]],
  },
];

test.for(cases)("servicePorts(): $name", ({ containers, want, reason }) => {
  const sandbox = aSandbox({ spec: { podTemplate: { spec: { containers } } } });
  const ports = servicePorts(sandbox);
  expect(ports.map(({ port, protocol, name }) => [port, protocol, name]), reason).toEqual(want);
  expect(ports.map(({ targetPort }) => targetPort)).toEqual(ports.map(({ port }) => port));
});

test("servicePorts() counts sidecars, not other init containers", () => {
  const initContainers = [
    { ...container("sidecar", { containerPort: 1 }), restartPolicy: "Always" },
    container("setup", { containerPort: 2 }),
  ];
  const sandbox = aSandbox({ spec: { podTemplate: { spec: { containers: [container("main")], initContainers } } } });
  expect(servicePorts(sandbox).map(({ port }) => port)).toEqual([1]);
});

test("a Service does not select the Pod of another Sandbox, whose name has the same hash", () => {
  // Found among 13,000 names.
  const sandboxOf = (name: string) => aSandbox({ metadata: { name, uid: `uid-${name}` } });
  const [mine, theirs] = [sandboxOf("sandbox-qz7dhh"), sandboxOf("sandbox-k2g4kw")];
  const selector = Object.entries(buildService(mine).spec?.selector ?? {});
  // Metacontroller adds the label of the parent to all its children.
  const labelsOf = (sandbox: typeof mine): Record<string, string | undefined> => ({
    ...buildPod(sandbox).metadata.labels,
    [CONTROLLER_UID_LABEL]: sandbox.metadata.uid,
  });
  const selects = (labels: Record<string, unknown>) => selector.every(([key, value]) => labels[key] === value);
  expect(labelsOf(theirs)[NAME_HASH_LABEL]).toBe(labelsOf(mine)[NAME_HASH_LABEL]);
  expect([selects(labelsOf(mine)), selects(labelsOf(theirs))]).toEqual([true, false]);
});

test.for([
  { name: "its Pod is seen, so it carries the UID", selector: {}, hasPod: true, byUID: true },
  { name: "no Pod is seen: one that was taken over may lack the UID", selector: {}, hasPod: false, byUID: false },
  { name: "it selects by UID already", selector: { [CONTROLLER_UID_LABEL]: "older" }, hasPod: false, byUID: true },
])("keepService(): $name", ({ selector, hasPod, byUID }) => {
  const service = aChild("Service", { spec: { clusterIP: "None", selector } });
  const { spec } = keepService(aSandbox(), service, hasPod);
  const hash = { [NAME_HASH_LABEL]: nameHash("demo") };
  expect(spec?.selector).toEqual(byUID ? { ...hash, [CONTROLLER_UID_LABEL]: "uid-demo" } : hash);
});
