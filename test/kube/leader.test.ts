import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { electionStep, heldSpec, lead, type Lease, leaseSchema, sight } from "../../packages/kube/leader.ts";
import { NOW } from "../sandboxes.ts";
import { createFakeApi, type FakeApi, refusal } from "./fakeapi.ts";

const LEASE = "/apis/coordination.k8s.io/v1/namespaces/system/leases/keeper";

const lease = (spec: object, resourceVersion = "1"): Lease =>
  leaseSchema.parse({ metadata: { resourceVersion }, spec });

describe("electionStep()", () => {
  const theirs = lease({ holderIdentity: "other", leaseDurationSeconds: 15 });
  test.for([
    { name: "nobody's", of: lease({}), age: 0, want: "take" },
    { name: "given back", of: lease({ holderIdentity: "" }), age: 0, want: "take" },
    { name: "mine", of: lease({ holderIdentity: "me", leaseDurationSeconds: 15 }), age: 0, want: "renew" },
    { name: "another's, just seen", of: theirs, age: 0, want: "wait" },
    { name: "another's, at the end of its term", of: theirs, age: 15_000, want: "wait" },
    { name: "another's, past its term", of: theirs, age: 15_001, want: "take" },
  ])("$name: $want", ({ of, age, want }) => {
    expect(electionStep(of, { version: "1", since: 1000 }, "me", 1000 + age)).toBe(want);
  });
});

test("sight() counts from when a version was first seen, by our own clock", () => {
  const first = sight(undefined, lease({}, "1"), 1000);
  expect(first).toEqual({ version: "1", since: 1000 });
  expect(sight(first, lease({}, "1"), 9000)).toBe(first);
  expect(sight(first, lease({}, "2"), 9000)).toEqual({ version: "2", since: 9000 });
});

test("heldSpec() counts holders, and says since when", () => {
  const time = "2026-11-21T12:00:00.000000Z";
  const held = { holderIdentity: "me", leaseDurationSeconds: 15, renewTime: time };
  expect(heldSpec(undefined, "me", 15, NOW)).toEqual({ ...held, acquireTime: time, leaseTransitions: 0 });
  const theirs = lease({ holderIdentity: "other", leaseTransitions: 4 });
  expect(heldSpec(theirs, "me", 15, NOW)).toEqual({ ...held, acquireTime: time, leaseTransitions: 5 });
  expect(heldSpec(lease({ holderIdentity: "me" }), "me", 15, NOW)).toEqual(held);
});

describe("lead()", () => {
  let server: FakeApi;
  let leaders: string[];
  const ends: AbortController[] = [];

  beforeEach(() => {
    vi.useFakeTimers({ now: NOW });
    server = createFakeApi();
    leaders = [];
  });
  afterEach(() => {
    ends.splice(0).forEach((end) => end.abort());
    vi.useRealTimers();
  });

  /** Starts a candidate; `server` can be cut off from it by `cut`. */
  function candidate(identity: string) {
    const end = new AbortController();
    ends.push(end);
    const line = { isCut: false };
    const api: typeof server = {
      ...server,
      send: (request) => line.isCut ? Promise.reject(new Error("unreachable")) : server.send(request),
    };
    const work = async (leading: AbortSignal) => {
      leaders.push(identity);
      await new Promise((resolve) => leading.addEventListener("abort", resolve));
      leaders.splice(leaders.indexOf(identity), 1);
    };
    const running = lead(
      { termSeconds: 15, api, log: () => {}, namespace: "system", name: "keeper", identity },
      work,
      end.signal,
    );
    running.catch(() => {});
    return { end, running, cut: () => line.isCut = true, mend: () => line.isCut = false };
  }

  const pass = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1000);
  const holder = () => (server.get(LEASE)?.["spec"] as { holderIdentity?: string }).holderIdentity;

  test("takes a Lease that nobody has made, and keeps it", async () => {
    candidate("a");
    await pass(1);
    expect(leaders).toEqual(["a"]);
    await pass(3600);
    expect(leaders).toEqual(["a"]);
    expect(server.requests.filter(({ method }) => method === "GET"), "renewals need no reading").toHaveLength(1);
  });

  test("leads alone", async () => {
    candidate("a");
    await pass(1);
    candidate("b");
    for (let second = 0; second < 300; second++) {
      await pass(1);
      expect(leaders).toEqual(["a"]);
    }
  });

  test("gives the Lease back, and the next one takes it at once", async () => {
    const a = candidate("a");
    await pass(1);
    candidate("b");
    await pass(1);
    a.end.abort();
    await a.running;
    expect(leaders).toEqual([]);
    expect(holder()).toBeUndefined();
    await pass(2.1);
    expect(leaders).toEqual(["b"]);
  });

  test("stops before anybody else can begin, where the server is out of reach", async () => {
    const a = candidate("a");
    await pass(1);
    candidate("b");
    a.cut();
    await pass(8);
    expect(leaders).toEqual(["a"]);
    await pass(2);
    expect(leaders).toEqual([]);
    await pass(10);
    expect(leaders).toEqual(["b"]);
    a.mend();
    await pass(60);
    expect(leaders, "the first one stands by").toEqual(["b"]);
  });

  test("waits for the whole term, though its clock is set forward during it", async () => {
    const a = candidate("a");
    await pass(1);
    candidate("b");
    a.cut();
    await pass(4);
    vi.setSystemTime(Date.now() + 60_000);
    await pass(4);
    expect(leaders, "the first one may still lead").toEqual(["a"]);
    await pass(12);
    expect(leaders).toEqual(["b"]);
  });

  test("stops though the answer to a renewal never comes", async () => {
    candidate("a");
    await pass(1);
    server.intercept = () => new Promise(() => {});
    await pass(12);
    expect(leaders).toEqual([]);
  });

  test("survives a renewal that fails", async () => {
    const a = candidate("a");
    await pass(1);
    a.cut();
    await pass(5);
    a.mend();
    await pass(60);
    expect(leaders).toEqual(["a"]);
  });

  test("stops at once when another holds the Lease", async () => {
    candidate("a");
    await pass(1);
    server.put(LEASE, { ...server.get(LEASE), spec: { holderIdentity: "b", leaseDurationSeconds: 15 } });
    await pass(2.1);
    expect(leaders).toEqual([]);
    await pass(10);
    expect(leaders).toEqual([]);
    await pass(10);
    expect(leaders).toEqual(["a"]);
  });

  test("makes the Lease again that somebody has removed", async () => {
    candidate("a");
    await pass(1);
    server.remove(LEASE);
    await pass(2.1);
    expect(leaders).toEqual(["a"]);
    expect(holder()).toBe("a");
  });

  test("takes over from its own dead process at once", async () => {
    const a = candidate("a");
    await pass(1);
    a.cut();
    a.end.abort();
    await pass(1);
    candidate("a");
    await pass(0.1);
    expect(leaders).toEqual(["a"]);
  });

  test("says so where the namespace does not exist", async () => {
    server.intercept = ({ method }) => method === "POST" ? refusal(404, 'namespaces "system" not found') : undefined;
    const { running } = candidate("a");
    await expect(running).rejects.toThrow('Cannot make Lease system/keeper: namespaces "system" not found');
  });

  test("ends with what the work throws", async () => {
    const work = () => Promise.reject(new Error("broken"));
    const options = { termSeconds: 15, api: server, log: () => {}, namespace: "system", name: "keeper", identity: "a" };
    const running = lead(options, work, new AbortController().signal);
    const outcome = expect(running).rejects.toThrow("broken");
    await pass(30);
    await outcome;
  });
});
