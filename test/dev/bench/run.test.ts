/** @module */
import { expect, test } from "vitest";
import { runShape } from "../../../dev/bench/run.ts";
import { SHAPES } from "../../../dev/bench/shapes/shapes.ts";
import type { Stage } from "../../../dev/bench/stage/stage.ts";

/** A cluster that answers nothing. */
const BROKEN: Stage = {
  api: { send: () => Promise.reject(new Error("Cannot begin: nobody is there")) } as unknown as Stage["api"],
  requests: { begin: () => Promise.resolve(), end: () => Promise.resolve([]) },
  processes: [],
  hookURLs: [],
  close: () => Promise.resolve(),
};
const turnOf = (isGoController: boolean, signal = new AbortController().signal) => ({
  implementation: isGoController ? "peer" : "this",
  round: 2,
  isGoController,
  progress: () => {},
  signal,
});

test("episodes need a router in front of the runtime", async () => {
  const [shape] = SHAPES.filter(({ workload }) => workload === "episodes");
  if (!shape) throw new Error("no shape");
  await expect(runShape(shape, BROKEN, turnOf(false))).rejects.toThrow("this stage has no router");
});

test("runShape() makes a violation of what the Go controller cannot do, and an error of what hookbox cannot", async () => {
  const [shape] = SHAPES.filter(({ name }) => name === "claims-burst");
  if (!shape) throw new Error("no shape");
  await expect(runShape(shape, BROKEN, turnOf(false))).rejects.toThrow("nobody is there");
  expect(await runShape(shape, BROKEN, turnOf(true))).toMatchObject({
    implementation: "peer",
    round: 2,
    asked: 300,
    samples: [],
    violations: ["Cannot begin: nobody is there"],
  });
  await expect(runShape(shape, BROKEN, turnOf(true, AbortSignal.abort()))).rejects.toThrow("nobody is there");
});
