/** The keeper as a process, on a real API server: claims that have expired are deleted, and no claim is changed. @module */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  begin,
  down,
  end,
  listed,
  makeClaim,
  makeSandbox,
  namespace,
  ownedBy,
  proxy,
  publish,
  read,
  READY,
  send,
  startKeeper,
  up,
} from "./keeper-world.ts";
import { until } from "./kubectl.ts";

beforeAll(up);
afterAll(down);
beforeEach(() => begin());
afterEach(end);

/** What keepers have asked about this test's namespace, Events apart. */
const asked = () =>
  proxy.requests.filter((line) => line.includes(namespace) && !line.includes("/events")).map((line) =>
    line.replace(/ .*\/namespaces\/[^/]+\/?/, " ")
  );

describe("claims that have expired", () => {
  const EXPIRED: [string, string, string] = ["False", "ClaimExpired", "Claim expired. Sandbox cleanup initiated."];
  const expire = (name = "c", more: object = {}) => publish(EXPIRED, more, name, "sandboxclaims");
  const lifecycle = (shutdownPolicy: string) => ({
    lifecycle: { shutdownPolicy, shutdownTime: "2026-01-01T00:00:00Z" },
  });
  const untilGone = (name = "c") => until(() => read("sandboxclaims", name), (claim) => claim === undefined);

  test("Delete deletes, once the hook has published it; Retain does not", async () => {
    await makeClaim(lifecycle("Delete"));
    await makeClaim(lifecycle("Retain"), "retained");
    await makeClaim(lifecycle("Delete"), "unpublished");
    startKeeper();
    await listed();
    await expire("retained");
    await expire();
    await untilGone();
    expect((await read("sandboxclaims", "retained")).metadata.deletionTimestamp).toBeUndefined();
    expect((await read("sandboxclaims", "unpublished")).metadata.deletionTimestamp).toBeUndefined();
    expect(asked(), "their pool does not exist, which the keeper need not know").toEqual(["DELETE sandboxclaims/c"]);
  });

  test("DeleteForeground lets the Sandbox go first", async () => {
    const claim = await makeClaim(lifecycle("DeleteForeground"));
    await makeSandbox(READY, {}, "s", { ...ownedBy(claim), finalizers: ["example.com/hold"] });
    startKeeper();
    await listed();
    await expire();
    const going = await until(() => read("sandboxes", "s"), ({ metadata }) => metadata.deletionTimestamp !== undefined);
    expect(going.metadata.finalizers).toContain("example.com/hold");
    expect((await read("sandboxclaims", "c")).metadata).toMatchObject({
      deletionTimestamp: expect.any(String),
      finalizers: ["foregroundDeletion"],
    });
    await send("PATCH", "sandboxes", "s", { metadata: { finalizers: null } });
    await untilGone();
    expect(asked().filter((line) => line.startsWith("DELETE"))).toEqual(["DELETE sandboxclaims/c"]);
  });

  test("a time to live counts from the end", async () => {
    await makeClaim({ lifecycle: { shutdownPolicy: "Delete", ttlSecondsAfterFinished: 2 } });
    startKeeper();
    await listed();
    const { status } = await expire();
    const end = { type: "Finished", status: "True", reason: "PodSucceeded", message: "" };
    const conditions = [...status.conditions, { ...end, lastTransitionTime: new Date().toISOString() }];
    await send("PATCH", "sandboxclaims/status", "c", { status: { conditions } });
    await untilGone();
    expect(asked().filter((line) => line.startsWith("DELETE"))).toEqual(["DELETE sandboxclaims/c"]);
  });
});
