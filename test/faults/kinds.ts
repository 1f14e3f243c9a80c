/** The kinds of harm that claims are taken through, at random. @module */
import { setTimeout as sleep } from "node:timers/promises";
import { inject } from "vitest";
import fc from "../properties.ts";
import type { Weather } from "./proxy.ts";
import type { Harm } from "./claimsthrough.ts";
import { smallDisk } from "./smalldisk.ts";
import type { FaultWorld, PartName } from "./world.ts";

const HOUR_MS = 3_600_000;
/** More than any run needs. */
const MOST = 1000;

/** Kills processes, one after the other, and starts each again up to two seconds later. */
export function kills(parts: PartName[]): Harm {
  return harm(
    fc.record({ part: fc.constantFrom(...parts), downMs: whole(0, 2000), pauseMs: whole(500, 4000) }),
    (harm) => harm.part,
    async (world, { part, downMs, pauseMs }) => {
      await sleep(pauseMs);
      await world.parts[part].kill();
      await sleep(downMs);
      await world.parts[part].start();
    },
  );
}

/** What the proxy between Metacontroller and the hooks does, for up to ten seconds each time. */
export function weathers(weathers: Weather[]): Harm {
  return harm(
    fc.record({ weather: fc.constantFrom(...weathers), lastsMs: whole(2000, 10_000), pauseMs: whole(1000, 6000) }),
    (harm) => harm.weather,
    async ({ proxy }, { weather, lastsMs, pauseMs }) => {
      await sleep(pauseMs);
      await proxy.turn(weather);
      await sleep(lastsMs);
      await proxy.turn("fair");
    },
  );
}

/** etcd that refuses every write that needs room, for up to twenty seconds, and reads and deletes on. */
export const withoutRoom: Harm = harm(
  fc.record({ lastsMs: whole(5000, 20_000), pauseMs: whole(3000, 15_000) }),
  () => "etcd without room",
  async (world, { lastsMs, pauseMs }) => {
    await sleep(pauseMs);
    await world.parts.etcd.kill();
    await world.parts.etcd.start("--quota-backend-bytes=1");
    await sleep(lastsMs);
    await world.parts.etcd.kill();
    await world.parts.etcd.start();
    await disarm(world);
  },
);

/**
 * A disk under etcd on which nothing else fits, until etcd has ended of it and for up to ten seconds more, in which it is
 * started again and again.
 */
export const onFullDisk: Harm = async (world, goesOn) => {
  const { etcd } = world.parts;
  await etcd.kill();
  const disk = await smallDisk(world.etcd.folder);
  await etcd.start();
  const outcome = await harm(
    fc.record({ lastsMs: whole(1000, 10_000), pauseMs: whole(3000, 15_000) }),
    () => "full disk",
    async (_, { lastsMs, pauseMs }) => {
      await sleep(pauseMs);
      disk.fill();
      await world.etcd.ended();
      const back = etcd.start();
      await sleep(lastsMs);
      disk.free();
      await back;
    },
  )(world, goesOn);
  await etcd.kill();
  await disk.giveBack();
  await etcd.start();
  return outcome;
};

/** Clocks of hooks and keeper that go up to an hour ahead or back, and right again. */
export const jumps: Harm = harm(
  fc.record({
    part: fc.constantFrom("hooks" as const, "keeper" as const),
    aheadMs: whole(-HOUR_MS, HOUR_MS),
    lastsMs: whole(1000, 8000),
    pauseMs: whole(0, 3000),
  }),
  ({ part, aheadMs }) => `${part} ${aheadMs < 0 ? "back" : "ahead"}`,
  async (world, { part, aheadMs, lastsMs, pauseMs }) => {
    await sleep(pauseMs);
    world.setClock(part, aheadMs);
    await sleep(lastsMs);
    world.setClock(part, 0);
  },
);

/** Harm of one kind again and again, as drawn by the run's seed; counted by what `name` says. */
function harm<T>(
  draws: fc.Arbitrary<T>,
  name: (drawn: T) => string,
  act: (world: FaultWorld, drawn: T) => Promise<void>,
): Harm {
  return async (world, goesOn) => {
    const done: Record<string, number> = {};
    for (const drawn of fc.sample(draws, { seed: inject("seed"), numRuns: MOST, unbiased: true })) {
      await act(world, drawn);
      done[name(drawn)] = (done[name(drawn)] ?? 0) + 1;
      if (!goesOn()) break;
    }
    return done;
  };
}

function whole(min: number, max: number): fc.Arbitrary<number> {
  return fc.integer({ min, max });
}

/** Takes etcd's alarms back, as an operator does who has made room. @throws {Error} if there was none: nothing was refused */
async function disarm({ etcd }: FaultWorld): Promise<void> {
  const ask = async (body: object) => {
    const answer = await fetch(`${etcd.url}/v3/maintenance/alarm`, { method: "POST", body: JSON.stringify(body) });
    return await answer.json() as { alarms?: { memberID: string; alarm: string }[] };
  };
  const { alarms = [] } = await ask({ action: "GET" });
  if (alarms.length === 0) throw new Error("Cannot take etcd's alarms back: there are none");
  for (const alarm of alarms) await ask({ action: "DEACTIVATE", ...alarm });
}
