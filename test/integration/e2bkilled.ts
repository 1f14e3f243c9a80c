/**
 * Kills the servers of E2B's API and the routers in turn while sandboxes live: nothing is lost, and the others answer
 * alike. @module
 */
import { Sandbox } from "e2b";
import { expect } from "vitest";
import { eventually } from "../eventually.ts";
import type { Replica, Replicas } from "./e2breplicas.ts";
import { until } from "./kubectl.ts";

/** Creations that wait in a replica when it is killed, with and without an Idempotency-Key each. */
const IN_FLIGHT = 4;
/** Of the creations without a key, in seconds. */
const SHORT_S = 45;
/** Requests at the same time. */
const AT_ONCE = 16;
const KEPT = { group: "kept" };

/** @param count of the sandboxes that live */
export async function killInTurn(world: Replicas, count: number): Promise<void> {
  const { apis, routers, apiKey } = world;
  const options = ({ url }: Replica) => ({ apiUrl: url, apiKey, retries: 0 });
  const numbers = Array.from({ length: count }, (_, index) => index);
  const made = await atOnce(numbers, async (index) => {
    const metadata = { ...KEPT, number: String(index) };
    const given = { ...options(alternately(apis, index)), metadata, timeoutMs: 3_600_000 };
    return (await Sandbox.create("base", given)).sandboxId;
  });
  const addresses = await addressesOf(world);
  const unowned: string[] = [];

  for (const victim of [...apis, ...routers]) {
    const isApi = apis.includes(victim);
    const other = (isApi ? apis : routers).find((one) => one !== victim) as Replica;
    const flying = isApi ? await startCreations(world, victim) : undefined;
    const stream = isApi ? undefined : await openStream(world, victim, made[0] ?? "");
    const kept = isApi ? undefined : await openStream(world, other, made[0] ?? "");
    await victim.kill();
    expect(await stream?.ended() ?? "cut", `the stream through ${victim.name}`).toBe("cut");
    if (flying) unowned.push(...await flying.find(other));
    await (isApi ? agree([other]) : reach([other]));
    await victim.start();
    await Promise.all([agree(apis), reach(routers)]);
    expect(kept?.isOpen() ?? true, `the stream through ${other.name}`).toBe(true);
    await Promise.all([kept?.close(), stream?.close()]);
  }

  // Creations whose client went away end by their timeout.
  const left = async () => (await claimsOf(world)).filter(({ metadata }) => unowned.includes(metadata.name)).length;
  expect(unowned).toHaveLength(apis.length * IN_FLIGHT);
  await until(left, (number) => number === 0);
  await atOnce(made, async (id, index) => {
    expect(await Sandbox.kill(id, options(alternately(apis, index)))).toBe(true);
    expect(await Sandbox.kill(id, options(alternately(apis, index + 1)))).toBe(false);
  });
  await eventually(async () => (await claimsOf(world)).length).toBe(0);

  /** Checks that these servers show all sandboxes, as they are, and that what one changes the others show. */
  async function agree(servers: readonly Replica[]): Promise<void> {
    const shown = await Promise.all(servers.map((server) => describeAll(server)));
    expect(shown[0]?.map(({ id }) => id)).toEqual([...made].sort());
    for (const each of shown) expect(each).toEqual(shown[0]);
    await atOnce(servers, async (server, index) => {
      const id = made[index] ?? "";
      await Sandbox.setTimeout(id, 7_200_000 + 60_000 * index, options(server));
      const ends = await Promise.all(
        servers.map((one) => Sandbox.getInfo(id, options(one)).then(({ endAt }) => +endAt)),
      );
      expect(new Set(ends).size, "the end after setTimeout").toBe(1);
      expect(ends[0]).toBeGreaterThan(Date.now() + 7_000_000);
    });
  }

  async function describeAll(server: Replica) {
    const pages = Sandbox.list({ ...options(server), query: { metadata: KEPT } });
    const listed: string[] = [];
    while (pages.hasNext) listed.push(...(await pages.nextItems()).map(({ sandboxId }) => sandboxId));
    return await atOnce(listed.sort(), async (id) => {
      const { endAt, startedAt, state, metadata } = await Sandbox.getInfo(id, options(server));
      const answer = await fetch(`${server.url}/v2/sandboxes/${id}/connect`, {
        method: "POST",
        headers: { "X-API-KEY": apiKey },
        body: '{"timeout":60}',
      });
      const { envdAccessToken } = await answer.json() as { envdAccessToken: string };
      return { id, endAt, startedAt, state, number: metadata["number"], status: answer.status, envdAccessToken };
    });
  }

  /** Checks that these routers lead to each sandbox's own Pod. */
  async function reach(servers: readonly Replica[]): Promise<void> {
    for (const { url } of servers) {
      const reached = await atOnce(made, async (id) => await (await fetch(url, { headers: naming(world, id) })).text());
      expect(reached).toEqual(made.map((id) => addresses.get(id)));
    }
  }
}

function naming({ podPort }: Replicas, id: string): Record<string, string> {
  return { "E2b-Sandbox-Id": id, "E2b-Sandbox-Port": String(podPort) };
}

function alternately(servers: readonly Replica[], index: number): Replica {
  return servers[index % servers.length] as Replica;
}

/** Calls `use` for each item, for a few at the same time. Returns the results in the order of the items. */
async function atOnce<T, R>(items: readonly T[], use: (item: T, index: number) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const rest = [...items.entries()];
  const work = async () => {
    for (let next = rest.shift(); next; next = rest.shift()) results[next[0]] = await use(next[1], next[0]);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return results;
}

interface Claim {
  metadata: { name: string; creationTimestamp: string; annotations?: Record<string, string> };
  spec: { lifecycle?: { shutdownTime?: string; shutdownPolicy?: string } };
}

async function claimsOf({ project }: Replicas): Promise<Claim[]> {
  return await project.list("sandboxclaim");
}

/** Returns the address of each sandbox's Pod, by ID. */
async function addressesOf({ project }: Replicas): Promise<Map<string, string>> {
  const sandboxes = await project.list("sandbox");
  return new Map(sandboxes.flatMap(({ metadata, status }) => {
    const claim = metadata.ownerReferences?.find(({ kind }: { kind: string }) => kind === "SandboxClaim");
    return claim ? [[claim.name, status.podIPs[0].ip ?? status.podIPs[0]]] : [];
  }));
}

/** Sends creations, and returns when each has its claim, whose Pod cannot start. */
async function startCreations(world: Replicas, victim: Replica) {
  const before = new Set((await claimsOf(world)).map(({ metadata }) => metadata.name));
  const send = async (server: Replica, body: object, key?: string) => {
    const headers = { "X-API-KEY": world.apiKey, ...key === undefined ? {} : { "Idempotency-Key": key } };
    const answer = await fetch(`${server.url}/v2/sandboxes`, { method: "POST", headers, body: JSON.stringify(body) });
    return { status: answer.status, id: (await answer.json() as { sandboxID?: string }).sandboxID ?? "" };
  };
  const body = { templateID: "held", timeout: 600 };
  const keys = Array.from({ length: IN_FLIGHT }, (_, index) => `${victim.name}-${index}`);
  const sent = [
    ...keys.map((key) => send(victim, body, key)),
    ...keys.map(() => send(victim, { ...body, timeout: SHORT_S })),
  ];
  const outcomes = Promise.allSettled(sent);
  const news = async () => (await claimsOf(world)).filter(({ metadata }) => !before.has(metadata.name));
  await until(news, ({ length }) => length === sent.length);
  return {
    /** Checks what came of them, once the replica is killed. Returns the IDs that no client knows. */
    async find(other: Replica): Promise<string[]> {
      expect((await outcomes).map(({ status }) => status)).toEqual(sent.map(() => "rejected"));
      const repeated = keys.map((key) => send(other, body, key));
      await world.release();
      const found = await Promise.all(repeated);
      expect(found.map(({ status }) => status)).toEqual(keys.map(() => 201));
      const claims = await news();
      expect(claims, "nothing was created twice").toHaveLength(sent.length);
      const known = new Set(found.map(({ id }) => id));
      expect(known.size).toBe(keys.length);
      const unowned = claims.filter(({ metadata }) => !known.has(metadata.name));
      for (const { metadata, spec: { lifecycle } } of unowned) {
        const seconds = (Date.parse(lifecycle?.shutdownTime ?? "") - Date.parse(metadata.creationTimestamp)) / 1000;
        expect({ seconds: Math.abs(seconds - SHORT_S) < 10, policy: lifecycle?.shutdownPolicy }).toEqual({
          ...{ seconds: true, policy: "Delete" },
        });
      }
      const as = { apiUrl: other.url, apiKey: world.apiKey };
      await Promise.all([...known].map((id) => Sandbox.kill(id, as)));
      return unowned.map(({ metadata }) => metadata.name);
    },
  };
}

/** Opens a stream of a sandbox through a router. */
async function openStream(world: Replicas, { url }: Replica, id: string) {
  const answer = await fetch(`${url}/stream`, { headers: naming(world, id) });
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  let state = "open";
  const end = reader.read().then(() => state = "ended", () => state = "cut");
  return {
    isOpen: () => state === "open",
    ended: () => end,
    close: () => reader.cancel().catch(() => {}),
  };
}
