/** What a claim costs while nothing changes: next to no requests, wherever it stands and whatever fails. @module */
import { afterEach, expect, test } from "vitest";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import { boundMember } from "../../packages/binder/boundsandbox.ts";
import type { ApiFault } from "../../packages/testing/api/memoryapi.ts";
import { aPool, COUNTED, type Over, STATUS } from "../pools.ts";
import { aTemplate } from "../templates.ts";
import { aWorld, broken, isBlind } from "./world.ts";

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.stop());

const OPEN = aTemplate({ spec: { envVarsInjectionPolicy: "Allowed" } });
const ENV = { spec: { env: [{ name: "A", value: "1" }] } };
const LARGE = { metadata: { annotations: { note: "x".repeat(20_000) } } };
const EXPIRED = { spec: { lifecycle: { shutdownTime: "2020-01-01T00:00:00Z" } } };
const NO_POOL = { spec: { warmPoolRef: { name: "none" } } };
const names = (name: string, reason = "DependenciesNotReady") => ({
  status: {
    sandbox: { name },
    conditions: [{ type: "Ready", status: "False", reason, message: "", lastTransitionTime: "2026-01-01T00:00:00Z" }],
  },
});
type Request = Parameters<ApiFault>[0];
const isPost = ({ method }: Request) => method === "POST";
const isPut = ({ method, path }: Request) => method === "PUT" && path.includes("/sandboxes/");
const isStatus = ({ path }: Request) => path.endsWith("/status");
const isNote = ({ method, path }: Request) => method === "PATCH" && path.includes("/sandboxclaims/");
const isRead = ({ method, query }: Request) => method === "GET" && !query?.["limit"];
/** The binder reminds a pool that is short of members at intervals, whatever claims do. */
const isReminder = ({ method, path }: Request) => method === "PATCH" && path.includes("/sandboxwarmpools/");
const answering = (status: number, ...kinds: ((request: Request) => boolean)[]): ApiFault => (request) =>
  kinds.some((isIt) => isIt(request)) ? { status, body: { message: "no" } } : undefined;
/** No request comes through once the binder has listed everything. */
const cutOff: ApiFault = ({ method, query }) => method === "WATCH" || query?.["limit"] ? undefined : broken;
/** Accepts a status, and answers with what is no claim. */
const unreadable: ApiFault = (request) =>
  isStatus(request) ? { status: 200, body: { ...request.body as object, spec: null } } : undefined;
/** Accepts writes about claims, and keeps nothing of them. */
const forgetful: ApiFault = (request) => {
  if (!isStatus(request) && !isNote(request)) return undefined;
  const [claim] = world.claims();
  return { status: 200, body: { ...claim } };
};

interface Case {
  name: string;
  claim?: Over;
  template?: ReturnType<typeof aTemplate>;
  members?: number[];
  /** How the members are. */
  state?: keyof typeof STATUS;
  /** Whether the claim controls the first member from the beginning. */
  isGiven?: boolean;
  fault?: ApiFault;
  /** Done once the claim is there. */
  then?: () => Promise<void>;
  /** Requests in a minute, once a quarter of an hour is over. */
  most: number;
}

const cases: Case[] = [
  { name: "is bound", members: [1], most: 0 },
  { name: "is bound, and is large", claim: LARGE, members: [1], most: 0 },
  { name: "waits for a pool", claim: NO_POOL, most: 0 },
  { name: "is large, and waits for a pool", claim: { ...LARGE, ...NO_POOL }, most: 0 },
  { name: "asks for what its template forbids", claim: ENV, template: aTemplate(), members: [1], most: 0 },
  { name: "has a Sandbox that never reports", isGiven: true, members: [1], state: "none", most: 0 },
  { name: "has expired before it was served", claim: EXPIRED, members: [1], most: 0 },
  { name: "has expired, and names a Sandbox that is gone", claim: { ...EXPIRED, ...names("gone") }, most: 0 },
  { name: "reports how its Sandbox ended, which is gone", claim: names("gone", "PodFailed"), members: [1], most: 0 },
  {
    name: "is being deleted",
    claim: { ...names("gone"), metadata: { finalizers: ["x/y"] } },
    then: () => world.remove(world.claims()[0], "SandboxClaim"),
    most: 0,
  },
  { name: "has its Sandbox refused", claim: ENV, fault: answering(403, isPost), most: 6 },
  {
    name: "has all members and its own Sandbox refused",
    members: [1, 2],
    fault: answering(422, isPost, isPut),
    most: 6,
  },
  { name: "has members fail", members: [1, 2], fault: answering(500, isPut), most: 8 },
  {
    name: "wants a name that is taken",
    claim: ENV,
    then: async () => void await world.store.put({ ...aStranger("c") }),
    fault: (request) => isPost(request) ? { status: 409, body: { message: "exists" } } : undefined,
    most: 36,
  },
  { name: "cannot be bound, because its status is refused", members: [1], fault: answering(403, isStatus), most: 4 },
  { name: "cannot be bound, because its status fails", members: [1], fault: answering(500, isStatus), most: 4 },
  { name: "cannot be bound, because of conflicts", members: [1], fault: answering(409, isStatus), most: 18 },
  { name: "cannot be bound, because it is not annotated", members: [1], fault: answering(500, isNote), most: 8 },
  {
    name: "cannot be bound, because nothing can be read",
    isGiven: true,
    members: [1],
    fault: answering(500, isRead),
    most: 8,
  },
  { name: "cannot report why it is not served", claim: NO_POOL, fault: answering(500, isStatus), most: 10 },
  {
    name: "cannot report that it has lost its Sandbox",
    claim: names("gone"),
    fault: answering(500, isStatus),
    most: 10,
  },
  { name: "cannot report that it has expired", claim: EXPIRED, fault: answering(500, isStatus), most: 8 },
  {
    name: "is bound to a Sandbox that the watch does not show",
    claim: names("c"),
    fault: isBlind,
    then: giveOwn,
    most: 0,
  },
  { name: "waits while nothing comes through", members: [1], fault: cutOff, most: 12 },
  { name: "is not bound, but its status is not kept", members: [1], fault: forgetful, most: 12 },
  {
    name: "waits for a pool, but its status is not kept",
    claim: NO_POOL,
    fault: forgetful,
    most: 12,
  },
  { name: "has lost its Sandbox, but its status is not kept", claim: names("gone"), fault: forgetful, most: 12 },
  { name: "has lost its Sandbox, and the answer cannot be read", claim: names("gone"), fault: unreadable, most: 12 },
  { name: "has expired, but its status is not kept", claim: EXPIRED, fault: forgetful, most: 12 },
  {
    name: "is bound, but its annotation is not kept",
    claim: { status: { sandbox: { name: "warm-1" } } },
    members: [1],
    isGiven: true,
    fault: forgetful,
    most: 12,
  },
];

function aStranger(name: string) {
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name, namespace: "team-a" },
    spec: OPEN.spec,
  };
}

/** Makes a Sandbox of the claim's name the claim's. */
async function giveOwn() {
  const [claim] = world.claims();
  await world.members([1]);
  const [member] = world.sandboxes();
  const { uid: _, resourceVersion: __, ...metadata } = member!.metadata;
  await world.store.put({
    ...boundMember({ ...member, metadata: { ...metadata, name: "c" } } as Sandbox, claim!, OPEN, new Date(0)),
  });
}

/** More than these in one go is a loop that never ends: the test would not, either. */
const MOST = 5000;

test.for(cases)("a claim that $name costs at most $most requests a minute", async (given) => {
  const { claim, template = OPEN, members = [], state = "ready", isGiven, fault, then, most } = given;
  world = await aWorld({ template, pool: aPool({ status: COUNTED }) });
  await world.members(members, { state });
  if (isGiven) {
    const stored = await world.claim("c", claim);
    await world.store.put(boundMember(world.sandboxes()[0] as Sandbox, stored, OPEN, new Date(0)));
  }
  let requests = 0;
  await world.binder((request) => {
    const isCounted = request.method !== "WATCH" && !isReminder(request);
    if (isCounted && ++requests > MOST) return broken;
    return fault?.(request);
  });
  if (!isGiven) await world.claim("c", claim);
  await then?.();
  await world.clock.advance(60_000);
  expect(requests, "in the first minute").toBeLessThan(100);
  await world.clock.advance(14 * 60_000);
  for (const minute of ["a", "another", "a third"]) {
    requests = 0;
    await world.clock.advance(60_000);
    expect(requests, `in ${minute} minute`).toBeLessThanOrEqual(most);
  }
});

test("what happens to a pool costs no requests for claims that have reported why it does not serve them", async () => {
  world = await aWorld();
  await world.members([1]);
  await world.binder();
  for (const name of ["c", "d"]) await world.claim(name, ENV);
  await world.clock.advance(60_000);
  expect(world.ready()["d"]).toContain("EnvVarsInjectionRejected");
  world.asked.length = 0;
  for (let replicas = 2; replicas < 20; replicas++) {
    const [pool] = world.store.objects("extensions.agents.x-k8s.io/v1beta1", "SandboxWarmPool");
    await world.store.put({ ...pool!, spec: { ...pool!["spec"] as object, replicas } });
    await world.clock.advance(100);
  }
  expect(world.asked.filter((line) => !line.startsWith("PATCH sandboxwarmpools"))).toEqual([]);
});

test("what happens to the Sandbox of a bound claim costs no requests", async () => {
  world = await aWorld();
  await world.members([1]);
  await world.binder();
  await world.claim("c");
  await world.clock.advance(60_000);
  world.asked.length = 0;
  for (let index = 0; index < 20; index++) {
    await world.store.put({ ...world.sandboxes()[0], status: STATUS[index % 2 ? "ready" : "coming"] } as never);
    await world.clock.advance(100);
  }
  expect(world.asked.filter((line) => !line.startsWith("PATCH sandboxwarmpools"))).toEqual([]);
});
