/** @module */
import { expect, test } from "vitest";
import { budgetFaults } from "../../../dev/bench/run.ts";
import { aResult } from "./report/results.ts";

test.for([
  { name: "within", writes: 22, client: "engine", want: [] },
  { name: "beyond", writes: 26, client: "engine", want: ["2.60 writes for each of 10 objects: the budget is 2.5"] },
  { name: "by somebody else", writes: 26, client: "kwok", want: [] },
  { name: "by nobody knows whom", writes: 26, client: undefined, want: [] },
])("budgetFaults(): $name", ({ writes, client, want }) => {
  const request = {
    verb: "update",
    resource: "pods",
    code: 200,
    count: writes,
    ...(client === undefined ? {} : { client }),
  };
  const result = aResult({ asked: 10, requests: [request] });
  expect(budgetFaults({ writes: 2.5, reads: 0 }, result)).toEqual(want);
  expect(budgetFaults(undefined, result)).toEqual([]);
});
