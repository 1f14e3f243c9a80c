/** Sandboxes that say nothing: the keeper has their hook asked, in time and not too often. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { refusal } from "../kube/fakeapi.ts";
import { aSandbox } from "../sandboxes.ts";
import { asked, begin, end, keep, pass, server } from "./duty.ts";
import { SANDBOX } from "./keeping.ts";

/** Noon is when the clock starts. */
const CREATED = { creationTimestamp: "2026-11-21T12:00:00Z" };
const put = ({ metadata = {}, status = { observedGeneration: 1 } }: { metadata?: object; status?: object } = {}) =>
  server.put(SANDBOX, { ...aSandbox({ metadata: { ...CREATED, ...metadata }, status }) });
const woken = () => server.get(SANDBOX)?.metadata.annotations?.["agents.x-k8s.io/woken-at"];
const PATCH = "PATCH sandboxes/demo";
const READY = {
  conditions: [
    {
      type: "Ready",
      status: "True",
      reason: "DependenciesReady",
      message: "",
      lastTransitionTime: CREATED.creationTimestamp,
    },
  ],
};

beforeEach(begin);
afterEach(end);

describe("a Sandbox without conditions", () => {
  test("is woken six seconds after its creation, and once more at twelve", async () => {
    await keep(0.5);
    put();
    await pass(5);
    expect(asked()).toEqual([]);
    await pass(1);
    expect(woken()).toBe("2026-11-21T12:00:06.000Z");
    await pass(5);
    expect(asked()).toEqual([PATCH]);
    await pass(1);
    expect(woken()).toBe("2026-11-21T12:00:12.000Z");
    await pass(600);
    expect(asked()).toEqual([PATCH, PATCH]);
  });

  test("is woken at once by a keeper that starts late", async () => {
    put({ metadata: { creationTimestamp: "2026-11-21T11:00:00Z" } });
    await keep(60);
    expect(asked()).toEqual([PATCH]);
  });

  test("is woken in its next version where it has changed meanwhile", async () => {
    server.intercept = ({ method }) => method === "PATCH" ? refusal(409, "changed") : undefined;
    put();
    await keep(11);
    expect(asked()).toEqual([PATCH]);
    server.intercept = () => undefined;
    put({ metadata: { labels: { a: "b" } } });
    await pass(0.1);
    expect(woken()).toBeDefined();
  });

  test("that is being deleted is left alone", async () => {
    put({ metadata: { deletionTimestamp: "2026-11-21T12:00:01Z" } });
    await keep(60);
    expect(asked()).toEqual([]);
  });
});

test("one that speaks in time costs no request", async () => {
  await keep(0.5);
  put();
  await pass(2);
  put({ status: READY });
  await pass(600);
  expect(asked()).toEqual([]);
});
