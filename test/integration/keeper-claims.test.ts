/** The keeper as a process, on a real API server: claims that cannot be served, and claims that have expired. @module */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  begin,
  down,
  end,
  listed,
  makeClaim,
  makePool,
  makeSandbox,
  makeTemplate,
  namespace,
  ownedBy,
  proxy,
  publish,
  read,
  READY,
  send,
  startKeeper,
  untilWordOn,
  up,
  wordOn,
} from "./keeper-world.ts";
import { until } from "./kubectl.ts";
import type { Loose } from "./namespace.ts";

beforeAll(up);
afterAll(down);
beforeEach(() => begin());
afterEach(end);

const NO_POOL = { generation: 1, reason: "WarmPoolNotFound", message: 'SandboxWarmPool "p" not found' };
const untilWord = (holds: (word: Loose) => boolean, name = "c") => untilWordOn("sandboxclaims", name, holds);
/** What keepers have asked about this test's namespace, Events apart. */
const asked = () =>
  proxy.requests.filter((line) => line.includes(namespace) && !line.includes("/events")).map((line) =>
    line.replace(/ .*\/namespaces\/[^/]+\/?/, " ")
  );

describe("claims that cannot be served", () => {
  test("a healthy one costs no request, in whatever order it and what it needs are applied", async () => {
    startKeeper();
    await listed();
    await Promise.all([makeClaim(), makePool(), makeTemplate()]);
    await publish(READY, { sandbox: { name: "s", podIPs: ["10.1.0.7"] } }, "c", "sandboxclaims");
    await send("DELETE", "sandboxwarmpools", "p");
    // Another one, in trouble, shows when the keeper has had its time.
    await makeClaim({ warmPoolRef: { name: "none" } }, "d");
    await untilWord((word) => word !== undefined, "d");
    expect(asked()).toEqual(["GET sandboxwarmpools/none", "GET sandboxes", "GET ", "PATCH sandboxclaims/d"]);
  });

  test("no pool, then no template, then all is there", async () => {
    await makeClaim();
    startKeeper();
    expect(await untilWord((found) => found !== undefined)).toEqual(NO_POOL);
    await makePool();
    await untilWord((found) => found === undefined);
    const message = 'SandboxTemplate "t" not found';
    expect(await untilWord((found) => found !== undefined)).toEqual({
      generation: 1,
      reason: "TemplateNotFound",
      message,
    });
    await makeTemplate();
    await untilWord((found) => found === undefined);
    expect(wordOn(await read("sandboxclaims", "c"))).toBeUndefined();
  });

  test("what the template forbids, until it allows it", async () => {
    await makeTemplate();
    await makePool();
    await makeClaim({ env: [{ name: "A", value: "1" }] });
    startKeeper();
    expect(await untilWord((found) => found !== undefined)).toMatchObject({ reason: "EnvVarsInjectionRejected" });
    await send("PATCH", "sandboxtemplates", "t", { spec: { envVarsInjectionPolicy: "Allowed" } });
    await untilWord((found) => found === undefined);
    expect(wordOn(await read("sandboxclaims", "c"))).toBeUndefined();
  });

  test("nothing is said where the watch lags behind", async () => {
    startKeeper();
    await listed();
    // From here on no watch brings anything of pools.
    proxy.gate = (line) => line.endsWith("sandboxwarmpools watch") ? "hold" : "pass";
    proxy.cut();
    await makeTemplate();
    await makePool();
    await makeClaim();
    await makeClaim({ warmPoolRef: { name: "none" } }, "d");
    await untilWord((word) => word !== undefined, "d");
    await until(() => Promise.resolve(asked()), (lines) => lines.includes("GET sandboxtemplates/t"));
    expect(wordOn(await read("sandboxclaims", "c"))).toBeUndefined();
  });

  test("a keeper that is killed leaves nothing that its successor does not take back", async () => {
    await makeClaim();
    const first = startKeeper();
    await untilWord((found) => found !== undefined);
    await first.kill("SIGKILL");
    await makeTemplate();
    await makePool();
    startKeeper();
    await untilWord((found) => found === undefined);
    expect(wordOn(await read("sandboxclaims", "c"))).toBeUndefined();
  });
});

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
    expect(asked().filter((line) => line.startsWith("DELETE"))).toEqual(["DELETE sandboxclaims/c"]);
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
