/** Claims through faults, and what became of them. @module */
import { setTimeout as sleep } from "node:timers/promises";
import { sharedOf } from "./audit.ts";
import { type Left, leftOf } from "./left.ts";
import { type Life, startLoad } from "./load.ts";
import { startVisits } from "./visits.ts";
import type { FaultWorld } from "./world.ts";
import { faultsOf, followClaims } from "../integration/history.ts";
import { makeNamespace, type Namespace } from "../integration/namespace.ts";
import { aPool, aSimulatedTemplate, untilFull } from "../integration/pools.ts";

export interface Outcome {
  claims: number;
  /** What was done, and how often. */
  faults: Record<string, number>;
  /** As text, one entry each; empty is good. */
  shared: string[];
  lost: string[];
  leaked: string[];
  /** From the first request for a claim until it was seen to be Ready: the longest, and the median. */
  longestSeconds: number;
  medianSeconds: number;
  /** Requests to Sandboxes that a router suspends when they are idle, and the longest until it was answered. */
  visits: number;
  longestVisitSeconds: number;
  /** From the end of the last fault and the last claim until nothing was left to do. */
  restSeconds: number;
}

/**
 * Does harm while `goesOn`, and returns what it did; everything is whole again when it returns. Each is tried at least
 * once.
 */
export type Harm = (world: FaultWorld, goesOn: () => boolean) => Promise<Record<string, number>>;

const REPLICAS = 20;
/**
 * How long after the end of all faults a claim may take, and the cluster after that. Metacontroller tries what has failed
 * again at 10 a second for each controller, however many there are: 1,000 claims whose hooks failed took 304 s.
 */
const BOUND_SECONDS = 600;
const VOLUMES = [{
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } },
}];
/** What each Sandbox has one of. */
const CHILDREN = ["pod", "persistentvolumeclaim"];

/** Serves claims from a pool of Sandboxes with volumes while harm is done, and waits until all is at rest. */
export async function claimsThrough(world: FaultWorld, claims: number, harm: Harm): Promise<Outcome> {
  const ns = await makeNamespace(world.kubectl);
  await ns.apply(aSimulatedTemplate("t", { volumeClaimTemplates: VOLUMES }), aPool("p", REPLICAS, "t"));
  await untilFull(ns, "p");
  const history = await followClaims(ns);
  const visits = await startVisits(world);
  const load = await startLoad(ns, history, "p", claims);
  const faults = await harm(world, load.isArriving);
  await load.arrived;
  const ended = performance.now();
  await load.settled(BOUND_SECONDS);
  const left = await atRest(ns, load.lives.filter(({ isKept }) => isKept), BOUND_SECONDS);
  const restSeconds = seconds(performance.now() - ended);
  const visited = await visits.end(BOUND_SECONDS);
  const took = load.lives.flatMap(({ asked, ready }) => ready === undefined ? [] : [ready - asked]).toSorted((a, b) =>
    a - b
  );
  return {
    claims,
    faults,
    shared: [...sharedOf(world.writes(), history), ...faultsOf(history)],
    lost: [
      ...load.lives.filter(({ ready }) => ready === undefined).map(({ name }) => name),
      ...left.lost,
      ...visited.lost,
    ],
    leaked: [...left.leaked, ...visited.leaked],
    longestSeconds: seconds(took.at(-1) ?? 0),
    medianSeconds: seconds(took[Math.floor(took.length / 2)] ?? 0),
    visits: visited.answered,
    longestVisitSeconds: seconds(visited.longestMs),
    restSeconds,
  };
}

/** Looks until nothing is lost, leaked or under way, and returns the last look. */
async function atRest(ns: Namespace, kept: Life[], boundSeconds: number): Promise<Left> {
  const late = performance.now() + boundSeconds * 1000;
  for (;;) {
    const left = await look(ns, kept);
    if (left.lost.length + left.leaked.length + left.unready.length === 0) return left;
    if (performance.now() > late) return { ...left, lost: [...left.lost, ...left.unready] };
    await sleep(250);
  }
}

async function look(ns: Namespace, kept: Life[]): Promise<Left> {
  const [claims = [], pools = [], sandboxes = [], ...children] = await Promise.all(
    ["sandboxclaim", "sandboxwarmpool", "sandbox", ...CHILDREN].map((kind) => ns.list(kind)),
  );
  return leftOf({ claims, pools, sandboxes, children }, new Set(kept.map(({ name }) => name)), REPLICAS);
}

function seconds(milliseconds: number): number {
  return Math.round(milliseconds / 100) / 10;
}
