/** Addresses of the dashboard. @module */
import { expect, test } from "vitest";
import { addressOf, LISTS, placeOf } from "../../packages/dashboard/place.ts";

const [sandboxes, , pools] = LISTS;

test.for([
  { hash: "#/sandboxes", want: { list: sandboxes, namespace: "", open: undefined } },
  {
    hash: "#/pools?namespace=team-a&open=team-a/python",
    want: { list: pools, namespace: "team-a", open: { namespace: "team-a", name: "python" } },
  },
])("$hash is read and written alike", ({ hash, want }) => {
  expect(placeOf(hash)).toEqual(want);
  expect(addressOf(placeOf(hash))).toBe(hash);
});

test.for(["", "#", "#/nothing", "#/sandboxes?open=x", "#/sandboxes?open=/x"])(
  "what makes no sense (%s) is the first list",
  (hash) => {
    expect(placeOf(hash)).toEqual({ list: sandboxes, namespace: "", open: undefined });
  },
);
