/** @module */
import { expect, test } from "vitest";
import { HELP, readOptions } from "../../../dev/bench/options.ts";
import { poolOf } from "../../../dev/bench/shapes/prepare.ts";
import { parametersOf, podsOf, poolCount } from "../../../dev/bench/shapes/shape.ts";
import { SHAPES } from "../../../dev/bench/shapes/shapes.ts";

test("every shape has a name of its own and is in the help", () => {
  const names = SHAPES.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(HELP).toContain(`  ${name} `);
});

test("the shape that CI runs has a budget", () => {
  expect(SHAPES.find(({ name }) => name === "short")?.budget).toEqual({ writes: 13.5, reads: 12 });
});

test("readOptions() spreads a sweep out, and changes shapes", () => {
  const { shapes } = readOptions(["by-standing", "claims-burst", "--count", "40", "--rate", "5"]);
  expect(shapes.map(({ name, standing }) => [name, standing])).toEqual([
    ["by-standing", 0],
    ["by-standing", 3000],
    ["by-standing", 10_000],
    ["claims-burst", 0],
  ]);
  expect(shapes.every(({ count }) => count === 40)).toBe(true);
  expect(shapes.map(({ arrivals }) => arrivals)).toEqual(shapes.map(() => ({ kind: "rate", perSecond: 5 })));
});

test("readOptions() changes how many run at a time, also of what had a rate", () => {
  const { shapes } = readOptions(["episodes-sdk", "claims-stream", "--clients", "10"]);
  expect(shapes.map(({ arrivals }) => arrivals)).toEqual(shapes.map(() => ({ kind: "burst", clients: 10 })));
});

test.for([
  { args: [], message: "Cannot run: name a shape, or see --help" },
  { args: ["burst"], message: 'Cannot run shape "burst": there are ' },
  { args: ["fill", "--count", "x"], message: 'Cannot use --count "x": it is not a number of at least 0' },
  { args: ["fill", "--process", "a"], message: 'Cannot measure process "a": write it as NAME=PID' },
  { args: ["fill", "--layout", "bun"], message: 'Cannot use layout "bun": there are deno, node, defaults, ' },
  { args: ["episodes-python"], message: "Cannot run episodes-python without --python: " },
  { args: ["fill", "--peer", "p"], message: "Cannot use --peer without --peer-crds: name the folder of its CRDs" },
  {
    args: ["fill", "--peer-crds", "d"],
    message: "Cannot use --peer-crds without --peer: name the Go controller's binary",
  },
  {
    args: ["fill", "--peer", "p", "--peer-crds", "d", "--kubeconfig", "f"],
    message: "Cannot run the Go controller of --peer",
  },
  { args: ["fill", "--peer", "p", "--peer-crds", "d", "--name", "peer"], message: 'Cannot call hookbox "peer"' },
  { args: ["fill", "--against", "d", "--kubeconfig", "f"], message: "Cannot compare with --against" },
])("readOptions() refuses $args", ({ args, message }) => {
  expect(() => readOptions(args)).toThrow(message);
});

test("readOptions() takes the Go controller in addition to another checkout, and neither by default", () => {
  const { peer, against } = readOptions(["fill", "--against", "a", "--peer", "p", "--peer-crds", "d"]);
  expect({ peer, against }).toEqual({ peer: { binary: "p", crds: "d" }, against: "a" });
  expect(readOptions(["fill"]).peer).toBeUndefined();
});

test("readOptions() takes a name for several shapes", () => {
  const names = readOptions(["fill", "comparison"]).shapes.map(({ name }) => name);
  expect(names).toEqual([
    "fill",
    ...["claims-burst", "claims-stream", "claims-stream-100", "claims-stream-50", "claims-cold"],
    ...["sandboxes-burst", "sandboxes-stream"],
  ]);
  expect(HELP).toContain("  comparison ");
});

test("objects are dealt out over pools, and pools over namespaces", () => {
  const [shape] = readOptions(["by-namespaces", "--namespaces", "3", "--replicas", "4"]).shapes;
  if (!shape) throw new Error("no shape");
  expect(poolCount(shape)).toBe(3);
  expect([0, 1, 2, 3].map((index) => poolOf(shape, index))).toEqual([
    { namespace: "bench-0", name: "pool-0" },
    { namespace: "bench-1", name: "pool-1" },
    { namespace: "bench-2", name: "pool-2" },
    { namespace: "bench-0", name: "pool-0" },
  ]);
  expect(podsOf(shape)).toBe(100 + 3 * 4);
  expect(parametersOf(shape)).toMatchObject({ perSecond: 20, namespaces: 3, replicas: 4 });
});
