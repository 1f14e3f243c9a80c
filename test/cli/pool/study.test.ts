/** Pools as the cluster shows them, and simulations of them: what is read, and what is said. @module */
import type { PodFact } from "../../../packages/api/diagnosis/facts.ts";
import { byPool, startTimes } from "../../../packages/summary/pools.ts";
import { expect, test } from "vitest";
import { renderPoolTable, renderSimulation } from "../../../packages/cli/commands/pool.ts";
import { poolStatus } from "../../../packages/cli/pool/status.ts";
import { parseTrace, poolSimulation, type StudyOptions } from "../../../packages/cli/pool/study.ts";
import type { Sandbox } from "../../../packages/api/sandbox.ts";
import type { SandboxClaim } from "../../../packages/api/sandboxclaim.ts";
import { parseKind } from "../../../packages/cli/commands/get.ts";
import { pathOf } from "../../../packages/kube/api.ts";
import { aClaim, aColdSandbox, ago, aMember, aPool } from "../../pools.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { NOW } from "../../sandboxes.ts";

function apiWith(...objects: KubeObject[]) {
  const api = createFakeApi({ pageSize: 2 });
  for (const object of objects) {
    const { kind, metadata: { namespace, name } } = object;
    api.put(pathOf({ resource: parseKind(kind).resource, namespace, name }), object);
  }
  return api;
}

/** A claim so many seconds old, with the Sandbox that it was given at once. */
function served(name: string, age: number, launchType: "warm" | "cold", startSeconds = 3): [SandboxClaim, Sandbox] {
  const claim = aClaim(name, {
    metadata: { creationTimestamp: ago(age) },
    status: { sandbox: { name: `${name}-box` } },
  });
  const sandbox = launchType === "warm" ? aMember(age) : aColdSandbox(claim);
  const { apiVersion, kind, metadata: { uid = "" } } = claim;
  const ready = { type: "Ready", status: "True", reason: "DependenciesReady", message: "" };
  return [claim, {
    ...sandbox,
    metadata: {
      ...sandbox.metadata,
      name: `${name}-box`,
      creationTimestamp: ago(age + 60),
      ownerReferences: [{ apiVersion, kind, name, uid, controller: true }],
    },
    status: { conditions: [{ ...ready, status: "True", lastTransitionTime: ago(age + 60 - startSeconds) }] },
  }];
}

const filling = {
  type: "Progressing",
  status: "False",
  reason: "QuotaExceeded",
  message: "1 of 3 sandboxes are Ready, 2 failing: exceeded quota",
  lastTransitionTime: ago(60),
} as const;

test("poolStatus() counts what the last hour's claims were given, and says why a pool is not full", async () => {
  const api = apiWith(
    aPool({ metadata: { creationTimestamp: ago(7200) }, status: { readyReplicas: 1, conditions: [filling] } }),
    aPool({ metadata: { name: "other", uid: "uid-other" }, spec: { replicas: 0 } }),
    ...served("a", 100, "warm"),
    ...served("b", 200, "warm"),
    ...served("c", 300, "cold"),
    ...served("old", 3700, "cold"),
    aClaim("waiting"),
    aMember(1),
  );
  const rows = await poolStatus(api, "team-a", undefined, NOW);
  expect(rows).toMatchObject([
    { name: "warm", ready: 1, desired: 3, waiting: 1, served: { warm: 2, cold: 1, unknown: 0 }, hitRate: 2 / 3 },
    { name: "other", ready: 0, desired: 0, waiting: 0, served: { warm: 0, cold: 0 }, hitRate: undefined },
  ]);
  expect(renderPoolTable(rows, { now: NOW })).toBe(
    `NAME    READY   DESIRED   WAITING   SERVED (1H)   COLD   HIT RATE   AGE         WHY NOT FULL
warm    1       3         1         3             1      66.6%      120m        QuotaExceeded: 1 of 3 sandboxes are Ready, 2 failing: exceeded quota
other   0       0         0         0             0      <none>     <unknown>   <none>
`,
  );
  expect(renderPoolTable(rows, { now: NOW, withNamespace: true })).toMatch(/^NAMESPACE {3}NAME .*\nteam-a {6}warm /);
});

test("poolStatus() reads one pool by name, and says so if there is none", async () => {
  const api = apiWith(aPool(), aPool({ metadata: { name: "other" } }));
  expect(await poolStatus(api, "team-a", "other", NOW)).toMatchObject([{
    name: "other",
    notFull: "the hook has not reconciled the pool yet",
  }]);
  await expect(poolStatus(api, "team-a", "none", NOW)).rejects.toThrow(/none/);
});

test("a claim whose Sandbox is gone was served, nobody knows how", async () => {
  const [claim] = served("a", 100, "warm");
  const [row] = await poolStatus(apiWith(aPool(), claim), "team-a", "warm", NOW);
  expect(row).toMatchObject({ served: { warm: 0, cold: 0, unknown: 1 }, hitRate: undefined });
});

const study = (options: Partial<StudyOptions> = {}, ...more: Parameters<typeof apiWith>) =>
  poolSimulation(apiWith(aPool(), ...more), { namespace: "team-a", name: "warm", ...options });

test("poolSimulation() takes arrivals and speeds from the cluster; a wake-up is no start", async () => {
  const found = await study(
    { target: 0.5 },
    ...served("a", 100, "warm", 4),
    ...served("b", 99, "warm", 6),
    ...served("slept", 95, "warm", 55),
    ...served("c", 90, "cold", 20),
  );
  expect(found).toMatchObject({
    pool: { name: "warm", replicas: 3 },
    demand: { source: "claims", claims: 4, spanSeconds: 10 },
    refill: { seconds: 5, measured: 2 },
    start: { seconds: 20, measured: 1 },
    smallest: 1,
  });
  // One member: taken at 0, Ready again at 5.05; the third comes at 5 and waits for it, and the fourth for the next.
  expect(found.outcomes.find(({ replicas }) => replicas === 1)).toMatchObject({ ready: 1, waited: 2, cold: 1 });
});

test("poolSimulation() takes a rate, the same each time, and a trace", async () => {
  const options = { rate: 0.5, spanSeconds: 600, refillSeconds: 6, startSeconds: 9 };
  const one = await study(options);
  expect(await study(options)).toEqual(one);
  expect(one.demand).toMatchObject({ source: "rate", spanSeconds: 600 });
  expect(Math.abs(one.demand.claims - 300)).toBeLessThan(60);
  const trace = parseTrace("2026-01-01T00:00:10Z\n\n2026-01-01T00:00:00Z # the first\n");
  expect((await study({ trace, refillSeconds: 6 })).demand).toEqual({ source: "trace", claims: 2, spanSeconds: 10 });
});

test("without a pool everything has to be said", async () => {
  const found = await poolSimulation(apiWith(), { namespace: "team-a", rate: 1, refillSeconds: 5 });
  expect(found).toMatchObject({ pool: undefined, start: { seconds: 5 } });
  expect(renderSimulation(found)).toMatch(/^A pool: 3,[0-9]{3} claims in 60m, at random times\n/);
});

test.for<[Partial<StudyOptions>, string]>([
  [{}, 'Cannot simulate pool "warm": it has no claims'],
  [{ rate: 1 }, 'Cannot simulate pool "warm": no Sandbox of it shows how long a refill takes'],
  [{ rate: 0 }, "Cannot simulate 0 claims per second: it is not above 0"],
  [{ rate: 1, trace: [1] }, "Cannot simulate a rate and a trace together"],
  [{ trace: [] }, 'Cannot simulate pool "warm": the trace is empty'],
  [{ rate: 1, refillSeconds: -1 }, "Cannot simulate starts of -1 s: it is not a length of time"],
  [{ target: 99 }, "Cannot aim at a hit rate of 99: it is not above 0 and at most 1"],
])("poolSimulation(%j) says why it cannot", async ([options, message]) => {
  await expect(study(options)).rejects.toThrow(message);
});

test("poolSimulation() without a name is about the only pool, and names all where there are several", async () => {
  const pool = { namespace: "team-a", refillSeconds: 5 };
  const one = apiWith(aPool(), ...served("a", 100, "warm"));
  expect((await poolSimulation(one, pool)).pool?.name).toBe("warm");
  const several = apiWith(aPool(), aPool({ metadata: { name: "other" } }));
  await expect(poolSimulation(several, pool)).rejects.toThrow(
    "Cannot simulate a pool: its name is missing, and there are several: other, warm",
  );
  await expect(poolSimulation(apiWith(), pool)).rejects.toThrow(
    'Cannot simulate a pool: there is none in namespace "team-a"',
  );
});

test("parseTrace() reads seconds and times, and says which line is neither", () => {
  expect(parseTrace("2.5\n0\n")).toEqual([0, 2.5]);
  expect(() => parseTrace("1\nsoon\n")).toThrow(
    'Cannot read line 2 of the trace: "soon" is neither seconds nor a time',
  );
});

test("renderSimulation() says what it rests on, each size, and which is enough", async () => {
  const trace = Array.from({ length: 21 }, (_, index) => index * 3);
  expect(renderSimulation(await study({ trace, refillSeconds: 7, startSeconds: 12, target: 0.9 }))).toBe(
    `Pool team-a/warm: 21 claims in 60s, of the trace
A new member takes 7s (given), a cold start 12s (given)

REPLICAS   HIT RATE   AT ONCE   WAITED   COLD   WAIT P50   P95   P99   IDLE   NOTE
0          0.0%       0         0        21     12s        12s   12s   0.0
1          42.8%      5         4        12     13s        13s   13s   0.1
2          80.9%      9         8        4      1s         13s   13s   0.2
3          100.0%     21        0        0      0s         0s    0s    0.7    now, enough

Smallest pool for a hit rate of 90.0%: 3, it has 3
`,
  );
});

test("Sandboxes of another namespace do not count, whatever owner they name", async () => {
  const [claim, sandbox] = served("a", 60, "warm");
  const foreign = { ...sandbox, metadata: { ...sandbox.metadata, namespace: "zz", labels: {} } };
  const objects = [aPool({}), claim, sandbox];
  const rows = await poolStatus(apiWith(...objects), undefined, undefined, NOW);
  expect(rows).toMatchObject([{ served: { warm: 1, cold: 0 } }]);
  expect(await poolStatus(apiWith(...objects, foreign), undefined, undefined, NOW)).toEqual(rows);
});

test("a start is a start: not a later Ready after an outage, and not a restart", () => {
  const time = (seconds: number) => new Date(NOW.getTime() + seconds * 1000).toISOString();
  const member = (number: number, readyAfter: number): Sandbox => {
    const made = aMember(number);
    const ready = { type: "Ready", status: "True" as const, reason: "DependenciesReady", message: "" };
    return {
      ...made,
      metadata: { ...made.metadata, creationTimestamp: time(0) },
      status: { conditions: [{ ...ready, lastTransitionTime: time(readyAfter) }] },
    };
  };
  const pod = (name: string, startedAfter: number, restartCount = 0): PodFact => ({
    metadata: { name, namespace: "team-a" },
    status: {
      containerStatuses: [{ name: "main", restartCount, state: { running: { startedAt: time(startedAfter) } } }],
    },
  });
  const members = [member(1, 130), member(2, 30), member(3, 200)];
  const [objects] = byPool([aPool()], [], members, [pod("warm-1", 4), pod("warm-2", 2), pod("warm-3", 199, 1)]);
  expect(startTimes({ ...objects!, members }, "warm")).toEqual({ mean: 17, count: 2 });
});
