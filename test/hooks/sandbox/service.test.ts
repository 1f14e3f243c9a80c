/** @module */
import { expect, test } from "vitest";
import { servicePorts } from "../../../hooks/sandbox/service.ts";
import { aSandbox } from "../../sandboxes.ts";

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
