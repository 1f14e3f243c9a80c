import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LAST_APPLIED_ANNOTATION } from "../../packages/api/objects/apply.ts";
import { nameHash } from "../../packages/api/objects/names.ts";
import { aSandbox } from "../sandboxes.ts";
import { asked, begin, end, keep, keeper, pass, server } from "./stage.ts";
import { aClaim, aPool, CLAIM, noted, POOL } from "./extensions.ts";
import { refusal } from "../kube/fakeapi.ts";
import { SANDBOX } from "./keeping.ts";

const OF_POOL = { "agents.x-k8s.io/warm-pool-sandbox": nameHash("pool") };
const DECORATOR = "metacontroller.k8s.io/decorator-controller";
const owned = (kind: string, name: string, uid: string) => ({
  ownerReferences: [{ apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind, name, uid, controller: true }],
});
const BY_CLAIM = owned("SandboxClaim", "job", "uid-job");
const put = (metadata: object) => server.put(SANDBOX, { ...aSandbox({ metadata }) });
const putPool = (metadata: object = {}) => server.put(POOL, { ...aPool({ metadata }) });
const putClaim = (metadata: object = {}, status?: object) =>
  server.put(CLAIM, { ...aClaim({ metadata: { ...noted(), ...metadata }, ...(status ? { status } : {}) }) });
const meta = () => server.get(SANDBOX)?.metadata ?? { name: "" };

beforeEach(begin);
afterEach(end);

describe("a Sandbox that nobody controls", () => {
  test("of a pool is labelled for it, so that Metacontroller adopts it", async () => {
    putPool();
    put({ labels: OF_POOL });
    await keep(1);
    expect(meta().labels).toEqual({ ...OF_POOL, "controller-uid": "uid-pool" });
    expect(keeper.actions).toEqual(["adopted"]);
    await pass(60);
    expect(asked()).toEqual(["PATCH sandboxes/demo"]);
  });

  test("loses what it says of how it was made: anybody may have written that", async () => {
    putPool();
    put({ labels: OF_POOL, annotations: { [LAST_APPLIED_ANNOTATION]: '{"metadata":{}}', other: "x" } });
    await keep(1);
    expect(meta().annotations).toEqual({ other: "x" });
  });

  test("waits for its pool, and for the next one of that name", async () => {
    put({ labels: OF_POOL });
    await keep(5);
    expect(asked()).toEqual([]);
    putPool();
    await pass(0.1);
    expect(meta().labels).toMatchObject({ "controller-uid": "uid-pool" });
    server.remove(POOL);
    putPool({ uid: "uid-next" });
    await pass(0.1);
    expect(meta().labels).toMatchObject({ "controller-uid": "uid-next" });
  });

  test.for([
    { name: "of another pool", metadata: { labels: { "agents.x-k8s.io/warm-pool-sandbox": nameHash("other") } } },
    { name: "of a pool elsewhere", metadata: { labels: OF_POOL, namespace: "team-b" } },
    { name: "of no pool", metadata: {} },
    { name: "that a claim has had", metadata: { labels: { ...OF_POOL, "agents.x-k8s.io/claim-uid": "u" } } },
    { name: "being deleted", metadata: { labels: OF_POOL, deletionTimestamp: "2026-11-21T12:00:00Z" } },
    { name: "that carries the label", metadata: { labels: { ...OF_POOL, "controller-uid": "uid-pool" } } },
    { name: "controlled after all", metadata: { labels: OF_POOL, ...owned("SandboxWarmPool", "pool", "uid-pool") } },
  ])("$name is left alone", async ({ metadata }) => {
    putPool();
    put(metadata);
    await keep(60);
    expect(asked()).toEqual([]);
  });

  test("is not given to a pool that is being deleted", async () => {
    putPool({ deletionTimestamp: "2026-11-21T12:00:00Z" });
    put({ labels: OF_POOL });
    await keep(60);
    expect(asked()).toEqual([]);
  });

  test("is given in its next version where it has changed since then", async () => {
    putPool();
    put({ labels: OF_POOL });
    server.intercept = ({ method }) => method === "PATCH" ? refusal(409, "changed") : undefined;
    await keep(10);
    expect(asked()).toEqual(["PATCH sandboxes/demo"]);
    server.intercept = () => undefined;
    put({ labels: { ...OF_POOL, a: "b" } });
    await pass(0.1);
    expect(meta().labels).toMatchObject({ a: "b", "controller-uid": "uid-pool" });
  });
});

describe("a Sandbox that a claim controls", () => {
  test("becomes an attachment of the claim", async () => {
    putClaim();
    put({ ...BY_CLAIM, annotations: { a: "b" } });
    await keep(60);
    expect(meta().annotations).toEqual({ a: "b", [DECORATOR]: "sandboxclaim" });
    expect(asked()).toContain("PATCH sandboxes/demo");
    expect(asked()[0]).toBe("GET sandboxclaims/job");
    expect(keeper.actions).toContain("adopted");
  });

  test("and is one already costs no request", async () => {
    putClaim({}, { sandbox: { name: "demo" } });
    put({ ...BY_CLAIM, annotations: { [DECORATOR]: "sandboxclaim" } });
    await keep(60);
    expect(asked()).toEqual([]);
  });

  test.for([
    { name: "that is gone", claim: undefined },
    { name: "that is another of the name", claim: { uid: "uid-another" } },
    { name: "that is being deleted", claim: { deletionTimestamp: "2026-11-21T12:00:00Z" } },
  ])("$name is left alone", async ({ claim }) => {
    if (claim) putClaim(claim, { sandbox: { name: "demo" } });
    put(BY_CLAIM);
    await keep(5);
    expect(asked()).toEqual(["GET sandboxclaims/job"]);
  });

  test("of another group is left alone", async () => {
    const [owner] = BY_CLAIM.ownerReferences;
    put({ ownerReferences: [{ ...owner, apiVersion: "example.com/v1" }] });
    await keep(60);
    expect(asked()).toEqual([]);
  });
});
