/** Lists all shapes by name. @module */
import type { Shape, Sweep } from "./shape.ts";

const BURST = { kind: "burst", clients: 16 } as const;
const rate = (perSecond: number) => ({ kind: "rate", perSecond }) as const;
const ONE = { namespaces: 1, pools: 1, replicas: 0, standing: 0 };
/**
 * Real processes run for weeks. In the first some hundred objects of a process, a part of the cost is the compilation
 * of its code.
 */
const WARM_UP = 500;
const CLAIMS = { ...ONE, workload: "claims", count: 300, replicas: 300, arrivals: rate(20), warmUp: WARM_UP } as const;
/** On a real node, so the sandboxes are containers on this machine. */
const SDK = { ...ONE, workload: "sdk", count: 20, replicas: 20 } as const;
const EPISODES = {
  ...ONE,
  workload: "episodes",
  count: 300,
  replicas: 30,
  arrivals: { kind: "burst", clients: 30 },
} as const;
/** Half of the sandboxes by our SDK, half by E2B's. */
const E2B = { ...ONE, workload: "e2b", count: 40, replicas: 20 } as const;
const COMMANDS = { ...ONE, workload: "commands", count: 20, replicas: 20 } as const;
/** Gives the same arrivals in every run. */
const SEED = 20_260_101;

export const SHAPES: readonly Shape[] = [
  {
    ...ONE,
    name: "sandboxes-burst",
    about: "500 Sandboxes at once, 16 clients",
    workload: "sandboxes",
    count: 500,
    arrivals: BURST,
    warmUp: WARM_UP,
  },
  {
    ...ONE,
    name: "sandboxes-stream",
    about: "300 Sandboxes at 30/s",
    workload: "sandboxes",
    count: 300,
    arrivals: rate(30),
    warmUp: WARM_UP,
  },
  {
    ...ONE,
    name: "sandboxes-flood",
    about: "all Sandboxes at once; number of Sandboxes",
    workload: "sandboxes",
    count: 500,
    arrivals: BURST,
    warmUp: WARM_UP,
  },
  { ...CLAIMS, name: "claims-burst", about: "300 claims at once on a pool of 300", arrivals: BURST },
  {
    ...CLAIMS,
    name: "claims-burst-slices",
    about: "300 claims at once on ten pools of 30",
    pools: 10,
    replicas: 30,
    arrivals: BURST,
  },
  { ...CLAIMS, name: "claims-stream", about: "claims at 20/s on a pool of 300" },
  { ...CLAIMS, name: "claims-stream-100", about: "claims at 20/s on a pool of 100", replicas: 100 },
  {
    ...CLAIMS,
    name: "claims-stream-50",
    about: "claims at 4/s on a pool of 50",
    count: 200,
    replicas: 50,
    arrivals: rate(4),
  },
  {
    ...CLAIMS,
    name: "claims-cold",
    about: "100 claims at once on a pool of 1",
    count: 100,
    replicas: 1,
    arrivals: BURST,
  },
  {
    ...CLAIMS,
    name: "claims-flood",
    about: "all claims at once on a pool of 100; number of claims",
    count: 500,
    replicas: 100,
    arrivals: BURST,
  },
  {
    ...CLAIMS,
    name: "claims-gate",
    about: "claims at 75/s for 10 s on a pool of 1,050",
    count: 750,
    replicas: 1050,
    arrivals: rate(75),
  },
  {
    ...ONE,
    name: "fill",
    about: "a pool of 300 fills",
    workload: "members",
    count: 300,
    replicas: 300,
    arrivals: BURST,
  },
  {
    ...CLAIMS,
    name: "claims-poisson",
    about: "claims at random, 45/s on four pools of 113, six times 10 s",
    count: 2700,
    pools: 4,
    replicas: 113,
    arrivals: { kind: "poisson", perSecond: 45, seed: SEED },
    windows: 6,
  },
  {
    ...CLAIMS,
    name: "claims-dwell",
    about: "claims at random, 10/s for 60 s, each kept for about 10 s and deleted",
    count: 600,
    replicas: 50,
    arrivals: { kind: "poisson", perSecond: 10, seed: SEED },
    dwellSeconds: 10,
  },
  {
    ...CLAIMS,
    name: "claims-standing",
    about: "claims at 20/s with 3,000 idle Sandboxes",
    replicas: 100,
    standing: 3000,
  },
  {
    ...CLAIMS,
    name: "churn",
    about: "20 minutes of claims at random, 10/s, each kept for about 10 s: memory over time",
    count: 12_000,
    replicas: 50,
    arrivals: { kind: "poisson", perSecond: 10, seed: SEED },
    dwellSeconds: 10,
    followsMemory: true,
  },
  { ...CLAIMS, name: "by-members", about: "claims at 20/s; size of the pool", count: 100 },
  { ...CLAIMS, name: "by-standing", about: "claims at 20/s; idle Sandboxes", count: 100, replicas: 50 },
  {
    ...CLAIMS,
    name: "by-standing-apart",
    about: "the same, but the idle Sandboxes are in another namespace",
    count: 100,
    replicas: 50,
    standsApart: true,
  },
  {
    ...CLAIMS,
    name: "by-namespaces",
    about: "claims at 20/s; namespaces with a pool each",
    count: 100,
    replicas: 4,
  },
  { ...CLAIMS, name: "by-pools", about: "claims at 20/s; pools in one namespace", count: 100, replicas: 4 },
  { ...CLAIMS, name: "by-rate", about: "claims on a pool of 100; claims per second", count: 200, replicas: 100 },
  {
    ...COMMANDS,
    name: "command-sequential",
    about: "claim, first command, delete; one after the other",
    arrivals: { kind: "burst", clients: 1 },
  },
  { ...COMMANDS, name: "command-staggered", about: "claim, first command, delete; every 200 ms", arrivals: rate(5) },
  {
    ...COMMANDS,
    name: "command-burst",
    about: "20 claims at once, a first command in each",
    arrivals: { kind: "burst", clients: 20 },
  },
  {
    ...COMMANDS,
    name: "command-cold",
    about: "claims on an empty pool, one after the other, a first command in each",
    replicas: 0,
    arrivals: { kind: "burst", clients: 1 },
  },
  {
    ...SDK,
    name: "sdk-sequential",
    about: "SDK: create, first command, kill; one after the other",
    arrivals: { kind: "burst", clients: 1 },
  },
  { ...SDK, name: "sdk-staggered", about: "SDK: create, first command, kill; every 200 ms", arrivals: rate(5) },
  {
    ...SDK,
    name: "sdk-burst",
    about: "SDK: 20 creations at once, a first command in each",
    arrivals: { kind: "burst", clients: 20 },
  },
  {
    ...SDK,
    name: "sdk-cold",
    about: "SDK: creations on an empty pool, one after the other, a first command in each",
    replicas: 0,
    arrivals: { kind: "burst", clients: 1 },
  },
  {
    ...EPISODES,
    name: "episodes-sdk",
    about: "300 episodes of the SDK, 30 at a time on a pool of 30: create, file, commands, file, delete",
    client: "sdk",
  },
  {
    ...EPISODES,
    name: "episodes-python",
    about: "the same with the published Python client",
    client: "python",
  },
  {
    ...E2B,
    name: "e2b-sequential",
    about: "E2B's SDK and ours in turns: create, first command, kill; one after the other",
    arrivals: { kind: "burst", clients: 1 },
  },
  {
    ...E2B,
    name: "e2b-burst",
    about: "E2B's SDK and ours in turns: 20 creations at once, a first command in each",
    count: 120,
    arrivals: { kind: "burst", clients: 20 },
  },
  {
    ...E2B,
    name: "e2b-creations",
    about: "E2B's SDK and ours in turns: 100 creations at once, on simulated nodes",
    count: 600,
    replicas: 100,
    arrivals: { kind: "burst", clients: 100 },
    isCreationOnly: true,
  },
  {
    ...CLAIMS,
    name: "short",
    about: "what CI runs: 60 claims at 10/s on a pool of 20",
    count: 60,
    replicas: 20,
    arrivals: rate(10),
    // This shape counts requests, and these do not become fewer when code is compiled.
    warmUp: 40,
    // The usual values are 9.3 and 7. On a slow machine, Sandboxes and claims also report that they wait, which is no
    // violation.
    budget: { writes: 13.5, reads: 12 },
  },
];

/** Names for groups of shapes. */
export const GROUPS: Readonly<Record<string, { about: string; shapes: readonly string[] }>> = {
  comparison: {
    about: "the seven shapes that compare hookbox with the Go controller: warm and cold claims, and bare Sandboxes",
    shapes: [
      "claims-burst",
      "claims-stream",
      "claims-stream-100",
      "claims-stream-50",
      "claims-cold",
      "sandboxes-burst",
      "sandboxes-stream",
    ],
  },
};

export const SWEEPS: Readonly<Record<string, Sweep>> = {
  "sandboxes-flood": { parameter: "count", values: [500, 3000, 10_000] },
  "claims-flood": { parameter: "count", values: [500, 3000] },
  "by-members": { parameter: "replicas", values: [30, 100, 300, 1000] },
  "by-standing": { parameter: "standing", values: [0, 3000, 10_000] },
  "by-standing-apart": { parameter: "standing", values: [0, 3000] },
  "by-namespaces": { parameter: "namespaces", values: [1, 10, 50] },
  "by-pools": { parameter: "pools", values: [1, 10, 50] },
  "by-rate": { parameter: "perSecond", values: [5, 10, 20, 40, 80] },
};
