/** What the binder writes, and what it takes an answer for, or none. @module */
import { beforeEach, expect, test } from "vitest";
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { SandboxClaim, SandboxClaimStatus } from "../../packages/api/sandboxclaim.ts";
import { boundMember, coldSandbox } from "../../packages/binder/boundsandbox.ts";
import {
  annotateClaim,
  findOwn,
  postSandbox,
  putSandbox,
  putStatus,
  RefusalError,
} from "../../packages/binder/writes.ts";
import type { Answer } from "../../packages/kube/api.ts";
import type { ApiFault, MemoryApi } from "../../packages/testing/api/memoryapi.ts";
import { aPool } from "../pools.ts";
import { NOW } from "../sandboxes.ts";
import { aTemplate } from "../templates.ts";
import { aWorld, broken, losing, surrounded } from "./world.ts";

let world: Awaited<ReturnType<typeof aWorld>>;
let claim: SandboxClaim;
let member: Sandbox;
let asked: string[];
let fault: ApiFault;
let api: MemoryApi;

beforeEach(async () => {
  world = await aWorld();
  await world.members([1]);
  claim = await world.claim("c");
  member = world.sandboxes()[0] as Sandbox;
  asked = [];
  fault = () => undefined;
  api = world.server.connect({
    fault: (request) => {
      asked.push(request.method);
      return fault(request);
    },
  });
});

const given = () => boundMember(member, claim, aTemplate(), NOW);
const cold = () => coldSandbox(claim, { pool: aPool(), template: aTemplate() }, NOW);
const STATUS: SandboxClaimStatus = { conditions: [], sandbox: { name: "warm-1" } };

const failing = (method: string, answer: Answer | Error): ApiFault => (request) =>
  request.method === method ? answer : undefined;
const refused = (status: number): Answer => ({ status, body: { message: "no" } });

test("a member is bound with one request, and the answer is what is stored", async () => {
  expect(await putSandbox(api, given(), claim)).toEqual(world.sandboxes()[0]);
  expect([asked, world.shares()]).toEqual([["PUT"], { c: ["warm-1"] }]);
});

test("a Sandbox that is bound has no managedFields any more", async () => {
  const managedFields = [{ manager: "metacontroller", operation: "Update", fieldsV1: { "f:spec": {} } }];
  member = await world.store.put({ ...member, metadata: { ...member.metadata, managedFields } } as never) as never;
  expect(member.metadata).toHaveProperty("managedFields");
  const sandbox = await putSandbox(api, given(), claim);
  expect(sandbox).toMatchObject({ metadata: { name: "warm-1" } });
  expect(world.sandboxes()[0]?.metadata).not.toHaveProperty("managedFields");
});

test("a member that has changed, or is gone, is lost", async () => {
  const stale = given();
  await world.store.put({ ...member, metadata: { ...member.metadata, labels: { x: "1" } } });
  expect(await putSandbox(api, stale, claim)).toBe("lost");
  await world.remove(member, "Sandbox");
  expect(await putSandbox(api, stale, claim)).toBe("lost");
  expect(world.shares()).toEqual({ c: [] });
});

test("a binding that has landed, though without an answer, is found", async () => {
  const lossy = surrounded(api, losing(({ method }) => method === "PUT"));
  expect(await putSandbox(lossy, given(), claim)).toMatchObject({ metadata: { name: "warm-1" } });
  expect([asked, world.shares()]).toEqual([["PUT", "GET"], { c: ["warm-1"] }]);
});

test("one that has not landed has failed: the member is as it was", async () => {
  fault = failing("PUT", broken);
  await expect(putSandbox(api, given(), claim)).rejects.toThrow("connection reset");
});

test("one of which a look shows that another claim has it is lost", async () => {
  const other = await world.claim("d");
  const sandbox = given();
  await putSandbox(world.server.connect(), boundMember(member, other, aTemplate(), NOW), other);
  fault = failing("PUT", broken);
  expect(await putSandbox(api, sandbox, claim)).toBe("lost");
});

test.for([403, 422, 500])("a binding that is refused with %d has failed, and says what", async (status) => {
  fault = failing("PUT", refused(status));
  await expect(putSandbox(api, given(), claim)).rejects.toThrow(/bind Sandbox team-a\/warm-1/);
});

test("nobody knows where a look fails, too", async () => {
  fault = () => broken;
  await expect(putSandbox(api, given(), claim)).rejects.toThrow("connection reset");
});

test("a cold Sandbox is made with one request; one that the claim has already is as good", async () => {
  const made = await postSandbox(api, cold(), claim);
  expect([made, asked]).toEqual([world.sandboxes()[1], ["POST"]]);
  expect(await postSandbox(api, cold(), claim)).toEqual(made);
  expect(world.sandboxes()).toHaveLength(2);
});

test("a name that is somebody else's is taken", async () => {
  await world.store.put({ ...member, metadata: { ...member.metadata, name: "c" } });
  expect(await postSandbox(api, cold(), claim)).toBe("taken");
});

test("a name that was somebody's and is free again is lost: the next try has it", async () => {
  fault = failing("POST", refused(409));
  expect(await postSandbox(api, cold(), claim)).toBe("lost");
});

test("a creation without an answer that has landed is taken as such; one that has not has failed", async () => {
  const lossy = surrounded(api, losing(({ method }) => method === "POST"));
  expect(await postSandbox(lossy, cold(), claim)).toMatchObject({ metadata: { name: "c" } });
  await world.remove({ metadata: { name: "c" } }, "Sandbox");
  fault = failing("POST", broken);
  await expect(postSandbox(api, cold(), claim)).rejects.toThrow("connection reset");
});

test.for([400, 403, 422])("a creation that the API server refuses with %d is reported in its words", async (status) => {
  fault = failing("POST", refused(status));
  await expect(postSandbox(api, cold(), claim)).rejects.toThrow(RefusalError);
});

test.for([404, 500])("a creation that fails with %d has failed: trying at once would go round hot", async (status) => {
  fault = failing("POST", refused(status));
  await expect(postSandbox(api, cold(), claim)).rejects.toThrow(/create Sandbox team-a\/c/);
});

test("findOwn() knows the claim's Sandbox by its controller, not by its name", async () => {
  expect(await findOwn(api, claim, "warm-1")).toBeUndefined();
  expect(await findOwn(api, claim, "none")).toBeUndefined();
  await putSandbox(api, given(), claim);
  expect(await findOwn(api, claim, "warm-1")).toMatchObject({ metadata: { name: "warm-1" } });
  fault = failing("GET", refused(500));
  await expect(findOwn(api, claim, "warm-1")).rejects.toThrow(/get Sandbox/);
});

/** The versions of the claim that were read while its status was written. */
let read: string[];
/** Writes a status of the claim. */
function put(compute: (claim: SandboxClaim) => SandboxClaimStatus | undefined) {
  read = [];
  return putStatus(
    api,
    claim,
    (latest) => Promise.resolve(compute(latest)),
    ({ metadata }) => void read.push(metadata.resourceVersion ?? ""),
  );
}

test("a status is one request, and the rest of the claim is sent as it was seen", async () => {
  const bodies: unknown[] = [];
  fault = ({ body }) => void bodies.push(body);
  const written = await put(() => STATUS);
  expect([asked, written?.status]).toEqual([["PUT"], STATUS]);
  expect(bodies).toEqual([{ ...claim, status: STATUS }]);
});

test("a status of a claim that has changed is computed anew, from what it is now", async () => {
  const changed = await world.claim("c", { metadata: { labels: { a: "1" } } });
  const seen: (Record<string, string> | undefined)[] = [];
  const written = await put(({ metadata }) => {
    seen.push(metadata.labels);
    return STATUS;
  });
  expect([asked, seen]).toEqual([["PUT", "GET", "PUT"], [undefined, { a: "1" }]]);
  expect(read, "the caller learns of the newer version").toEqual([changed.metadata.resourceVersion]);
  expect(written).toMatchObject({ metadata: { labels: { a: "1" } }, status: STATUS });
});

test("nothing is said of a claim of that name that is another one", async () => {
  await world.remove(claim, "SandboxClaim");
  const next = await world.claim("c");
  expect(next.metadata.uid).not.toBe(claim.metadata.uid);
  fault = (request) => request.method === "PUT" ? refused(409) : undefined;
  expect(await put(() => STATUS)).toBeUndefined();
  expect([asked, world.shown()]).toEqual([["PUT", "GET"], { c: undefined }]);
});

test("whether a claim that has got a status by now is left to its hook is not decided here", async () => {
  await world.claim("c", { status: { sandbox: { name: "other" } } });
  const unlessTold = ({ status }: SandboxClaim) => status ? undefined : STATUS;
  expect(await put(unlessTold)).toBeUndefined();
  expect([asked, world.shown()]).toEqual([["PUT", "GET"], { c: "other" }]);
  expect(await put(() => STATUS)).toMatchObject({ status: STATUS });
  expect(world.shown()).toEqual({ c: "warm-1" });
});

test("nothing is said of a claim that is gone", async () => {
  await world.remove(claim, "SandboxClaim");
  expect(await put(() => STATUS)).toBeUndefined();
});

test("where there is nothing to say nothing is sent, and a claim that changes all the time is given up", async () => {
  expect(await put(() => undefined)).toBeUndefined();
  expect(asked).toEqual([]);
  fault = failing("PUT", refused(409));
  expect(await put(() => STATUS)).toBeUndefined();
  expect(asked.filter((method) => method === "PUT")).toHaveLength(4);
  fault = failing("PUT", refused(500));
  await expect(put(() => STATUS)).rejects.toThrow(/write the status/);
});

test("annotations are added to the claim that is meant, and to no other of its name", async () => {
  await annotateClaim(api, claim, { a: "1" });
  expect(world.claims()[0]?.metadata.annotations).toMatchObject({ a: "1" });
  await annotateClaim(api, { ...claim, metadata: { ...claim.metadata, uid: "uid-before" } }, { a: "2" });
  expect(world.claims()[0]?.metadata.annotations).toMatchObject({ a: "1" });
  await world.remove(claim, "SandboxClaim");
  await annotateClaim(api, claim, { a: "3" });
  fault = failing("PATCH", refused(500));
  await expect(annotateClaim(api, claim, { a: "4" })).rejects.toThrow(/annotate/);
});
