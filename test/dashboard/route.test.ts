/** Addresses of the dashboard. @module */
import { expect, test } from "vitest";
import { addressOf, listRoute, LISTS, routeOf, slugOf } from "../../packages/dashboard/route.ts";

const [sandboxes, claims, pools] = LISTS as [typeof LISTS[0], typeof LISTS[0], typeof LISTS[0]];
const projects = LISTS.find(({ kind }) => kind === "Project")!;

test.for([
  { hash: "#/sandboxes", want: listRoute(sandboxes) },
  {
    hash: "#/pools?namespace=team-a&open=team-a/python",
    want: { ...listRoute(pools, "team-a"), open: { namespace: "team-a", name: "python" } },
  },
  {
    hash: "#/claims?filter=two+words&status=CrashLoopBackOff,Starting&sort=-pod-ip",
    want: {
      ...listRoute(claims),
      filter: "two words",
      statuses: ["CrashLoopBackOff", "Starting"],
      sort: { column: "pod-ip", isDescending: true },
    },
  },
  {
    hash: "#/projects?namespace=demo&open=demo",
    want: { ...listRoute(projects, "demo"), open: { namespace: "demo", name: "demo" } },
  },
  { hash: "#/claims?sort=age", want: { ...listRoute(claims), sort: { column: "age", isDescending: false } } },
])("$hash is read and written alike", ({ hash, want }) => {
  expect(routeOf(hash)).toEqual(want);
  expect(addressOf(routeOf(hash))).toBe(hash);
});

test.for(["a b&c=d", "50%", "#?/+", "ä \u{1f600}"])("a filter comes back as it was typed: %s", (filter) => {
  expect(routeOf(addressOf({ ...listRoute(pools), filter })).filter).toBe(filter);
});

test.for(["", "#", "#/nothing", "#/sandboxes?open=x", "#/sandboxes?open=/x", "#/sandboxes?sort=", "#/?sort=<b>"])(
  "what makes no sense (%s) is the first list",
  (hash) => {
    expect(routeOf(hash)).toEqual(listRoute(sandboxes));
  },
);

test("slugOf() writes headers for the URL", () => {
  expect(["POD IP", "SERVED (1H)", "AGE"].map(slugOf)).toEqual(["pod-ip", "served-1h", "age"]);
});
