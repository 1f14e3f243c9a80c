/** Addresses of the dashboard. @module */
import { expect, test } from "vitest";
import { addressOf, LISTS, routeOf } from "../../packages/dashboard/route.ts";

const [sandboxes, , pools] = LISTS;

test.for([
  { hash: "#/sandboxes", want: { list: sandboxes, namespace: "", open: undefined } },
  {
    hash: "#/pools?namespace=team-a&open=team-a/python",
    want: { list: pools, namespace: "team-a", open: { namespace: "team-a", name: "python" } },
  },
])("$hash is read and written alike", ({ hash, want }) => {
  expect(routeOf(hash)).toEqual(want);
  expect(addressOf(routeOf(hash))).toBe(hash);
});

test.for(["", "#", "#/nothing", "#/sandboxes?open=x", "#/sandboxes?open=/x"])(
  "what makes no sense (%s) is the first list",
  (hash) => {
    expect(routeOf(hash)).toEqual({ list: sandboxes, namespace: "", open: undefined });
  },
);
