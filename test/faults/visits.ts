/** Sandboxes that a router suspends when nobody asks for them, and clients that ask for them now and then. @module */
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { inject } from "vitest";
import { createAll } from "../integration/bulk.ts";
import { type Loose, makeNamespace, type Namespace, ON_SIMULATED_NODES, sleeper } from "../integration/namespace.ts";
import { controllerOf } from "../integration/pools.ts";
import { naming } from "../node/runtimepods.ts";
import fc from "../properties.ts";
import { doubles, named } from "./left.ts";
import type { FaultWorld } from "./world.ts";

export interface Visits {
  /** Visits once more, now that all is whole, and ends. */
  end(boundSeconds: number): Promise<Visited>;
}

interface Visited {
  /** Requests that a Sandbox has answered. */
  answered: number;
  /** From the first try of a visit until it was answered; milliseconds. */
  longestMs: number;
  /** Sandboxes that did not answer at the end. */
  lost: string[];
  /** Pods beyond one for each. */
  leaked: string[];
}

const SANDBOXES = 10;
const IDLE = { "router.agents.x-k8s.io/idle-seconds": "3" };
/** Between two visits of one, so that about every other visit finds it suspended. */
const AWAY_MS = { min: 500, max: 8000 };
/** A router that has been killed may have taken a request that nobody answers. */
const TRY_MS = 10_000;
const AGAIN_MS = 250;

/** Makes the Sandboxes and begins to visit them. */
export async function startVisits(world: FaultWorld): Promise<Visits> {
  const ns = await makeNamespace(world.kubectl);
  const names = Array.from({ length: SANDBOXES }, (_, index) => `visited-${index}`);
  await createAll(ns, names.map(idling));
  const inside = createServer((_, answer) => answer.end("inside")).listen(0);
  const { port } = inside.address() as AddressInfo;
  const done = { answered: 0, longestMs: 0 };
  let late = Infinity;
  let isOver = false;

  const visit = async (name: string): Promise<boolean> => {
    const began = performance.now();
    while (!await answers(world.router, ns, name, port)) {
      if (performance.now() > late) return false;
      await sleep(AGAIN_MS);
    }
    done.answered++;
    done.longestMs = Math.max(done.longestMs, performance.now() - began);
    return true;
  };
  const visitor = async (name: string, index: number) => {
    for (const ms of fc.sample(fc.integer(AWAY_MS), { seed: inject("seed") + index, numRuns: 10_000 })) {
      if (isOver) break;
      await sleep(ms);
      await visit(name);
    }
  };
  const visitors = names.map(visitor);
  return {
    async end(boundSeconds) {
      isOver = true;
      late = performance.now() + boundSeconds * 1000;
      await Promise.all(visitors);
      const isBack = await Promise.all(names.map(visit));
      inside.close();
      return { ...done, lost: names.filter((_, index) => !isBack[index]), leaked: extraOf(await ns.list("pod")) };
    },
  };
}

function idling(name: string): Loose {
  const sandbox = sleeper(name, {}, ON_SIMULATED_NODES);
  return { ...sandbox, metadata: { name, annotations: IDLE } };
}

/** Asks once, through the router; false also if nobody says anything in time. */
function answers(router: string, ns: Namespace, name: string, port: number): Promise<boolean> {
  const headers = naming(ns, name, port);
  return new Promise((resolve) => {
    const asked = request(router, { agent: false, headers, timeout: TRY_MS }, (answer) => {
      answer.resume().on("error", () => {}).once("close", () => resolve(answer.statusCode === 200 && answer.complete));
    });
    asked.once("timeout", () => asked.destroy()).once("error", () => resolve(false)).end();
  });
}

/** Pods of a Sandbox that has another one, and Pods without an owner. */
function extraOf(pods: Loose[]): string[] {
  const [owned, orphans] = [[], []] as [Loose[], Loose[]];
  for (const pod of pods) if (!pod.metadata.deletionTimestamp) (controllerOf(pod) ? owned : orphans).push(pod);
  return [...doubles(owned), ...orphans.map(named)];
}
