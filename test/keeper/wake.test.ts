/** The keeper requeues Sandboxes and pools whose hook has not answered. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { refusal } from "../kube/fakeapi.ts";
import { aSandbox } from "../sandboxes.ts";
import { asked, begin, end, keep, pass, server } from "./stage.ts";
import { aClaim, aCondition, aPool, CLAIM, POOL } from "./extensions.ts";
import { SANDBOX } from "./keeping.ts";

const PATCH = "PATCH sandboxes/demo";
/** Noon is when the clock starts. */
const CREATED = { creationTimestamp: "2026-11-21T12:00:00Z" };
const READY = { conditions: [aCondition("Ready", "True", "DependenciesReady")] };
const put = ({ metadata = {}, status = { observedGeneration: 1 } }: { metadata?: object; status?: object } = {}) =>
  server.put(SANDBOX, { ...aSandbox({ metadata: { ...CREATED, ...metadata }, status }) });
const woken = () => server.get(SANDBOX)?.metadata.annotations?.["agents.x-k8s.io/woken-at"];

beforeEach(begin);
afterEach(end);

describe("a Sandbox without conditions", () => {
  test("is woken six seconds after its creation, at twelve, and then more and more seldom", async () => {
    await keep(0);
    put();
    await pass(5);
    expect(asked()).toEqual([]);
    await pass(1);
    expect(woken()).toBe("2026-11-21T12:00:06.000Z");
    await pass(5);
    expect(asked()).toEqual([PATCH]);
    await pass(1);
    expect(woken()).toBe("2026-11-21T12:00:12.000Z");
    const times = new Set<unknown>();
    for (let second = 12; second < 1900; second++) times.add(await pass(1).then(woken));
    const at = (clock: string) => `2026-11-21T12:${clock}.000Z`;
    const first = ["00:12", "00:30", "01:00", "02:00", "05:00"];
    expect([...times]).toEqual([...first, "10:00", "20:00", "30:00"].map(at));
    expect(asked()).toHaveLength(1 + times.size);
  });

  test("is woken by a keeper that starts late, once that has seen for six seconds that nobody is answered", async () => {
    put({ metadata: { creationTimestamp: "2026-11-21T11:00:00Z" } });
    await keep(5);
    expect(asked()).toEqual([]);
    await pass(55);
    expect(asked()).toEqual([PATCH]);
  });

  test("is requeued in its next version where it has changed since then", async () => {
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

test("a Sandbox that speaks in time costs no request", async () => {
  await keep(0.5);
  put();
  await pass(2);
  put({ status: READY });
  await pass(600);
  expect(asked()).toEqual([]);
});

describe("a Sandbox that waits for its Pod", () => {
  const waiting = (reason: string, since = "2026-11-21T12:00:01Z") => ({
    conditions: [{ ...aCondition("Ready", "False", reason), lastTransitionTime: since }],
  });

  test("is woken once, twelve seconds after it began to", async () => {
    await keep(0.5);
    put({ status: waiting("DependenciesNotReady") });
    await pass(12);
    expect(asked()).toEqual([]);
    await pass(1);
    expect(woken()).toBe("2026-11-21T12:00:13.000Z");
    await pass(1800);
    expect(asked()).toEqual([PATCH]);
  });

  test("is woken again where it waits anew", async () => {
    put({ status: waiting("DependenciesNotReady") });
    await keep(60);
    put({ status: READY, metadata: { annotations: server.get(SANDBOX)?.metadata.annotations } });
    await pass(60);
    put({
      status: waiting("DependenciesNotReady", "2026-11-21T12:02:00Z"),
      metadata: { annotations: server.get(SANDBOX)?.metadata.annotations },
    });
    await pass(60);
    expect(asked()).toEqual([PATCH, PATCH]);
    expect(woken()).toBe("2026-11-21T12:02:12.000Z");
  });

  test("that is Ready again within that costs no request", async () => {
    await keep(0.5);
    for (let round = 0; round < 3; round++) {
      put({ status: waiting("DependenciesNotReady", `2026-11-21T12:0${round}:00Z`) });
      await pass(11);
      put({ status: READY });
      await pass(49);
    }
    expect(asked()).toEqual([]);
  });

  test.for(["SandboxSuspended", "PodFailed", "PodSucceeded", "InvalidConfiguration"])(
    "is not one that says %s",
    async (reason) => {
      put({ status: waiting(reason) });
      await keep(60);
      expect(asked()).toEqual([]);
    },
  );
});

describe("one whose hook has not answered to its last change", () => {
  test("a Sandbox is woken six seconds after it was seen so, and no more once it was answered", async () => {
    put({ metadata: { generation: 2 }, status: { ...READY, observedGeneration: 2 } });
    await keep(60);
    put({ metadata: { generation: 3 }, status: { ...READY, observedGeneration: 2 } });
    await pass(5);
    expect(asked()).toEqual([]);
    await pass(2);
    expect(asked()).toEqual([PATCH]);
    expect(woken()).toBe("2026-11-21T12:01:06.000Z");
    put({ metadata: { generation: 3 }, status: { ...READY, observedGeneration: 3 } });
    await pass(600);
    expect(asked()).toEqual([PATCH]);
  });

  test("a Sandbox is woken more and more seldom while nobody answers", async () => {
    await keep(0);
    put({ metadata: { generation: 3 }, status: { ...READY, observedGeneration: 2 } });
    await pass(1900);
    expect(asked()).toHaveLength(9);
  });

  test("a pool is woken", async () => {
    server.put(POOL, aPool({ metadata: { generation: 2 }, status: { observedGeneration: 1 } }));
    await keep(5);
    expect(asked()).toEqual([]);
    await pass(2);
    expect(asked()).toEqual(["PATCH sandboxwarmpools/pool"]);
    server.put(POOL, aPool({ metadata: { generation: 2 }, status: { observedGeneration: 2 } }));
    await pass(600);
    expect(asked()).toEqual(["PATCH sandboxwarmpools/pool"]);
  });
});

test("a claim gets no annotation, whatever it waits for: only the binder and its hook write to it", async () => {
  const ready = aCondition("Ready", "True", "DependenciesReady", { observedGeneration: 1 });
  server.put(CLAIM, { ...aClaim({ metadata: { ...CREATED, generation: 2 }, status: { conditions: [ready] } }) });
  const waiting = CLAIM.replace("job", "waiting");
  server.put(waiting, { ...aClaim({ metadata: { ...CREATED, name: "waiting", uid: "uid-waiting" } }) });
  await keep(600);
  expect(asked()).toEqual([]);
});
