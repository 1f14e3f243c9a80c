/** @module */
import { expect, test } from "vitest";
import { patchOf } from "../../packages/kube/requests.ts";

test("patchOf() fits the version that was judged, and no other", () => {
  const patch = patchOf({ name: "a", uid: "u", resourceVersion: "7" }, { labels: { a: "1" } });
  expect(patch).toEqual({ metadata: { resourceVersion: "7", labels: { a: "1" } } });
});
