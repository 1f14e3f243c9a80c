/** Members of a pool that the API server does not let Metacontroller delete or mark: what the keeper reports, and for how long. @module */
import { afterEach, beforeEach, expect, test } from "vitest";
import { nameHash } from "../../packages/api/objects/names.ts";
import { refusal } from "../kube/fakeapi.ts";
import { aSandbox, NOW } from "../sandboxes.ts";
import { aPool, POOL } from "./extensions.ts";
import { begin, end, failSync, keep, keeper, pass, requests, server } from "./stage.ts";

const SANDBOXES = "/apis/agents.x-k8s.io/v1beta1/namespaces/team-a/sandboxes";
const WORDS = `can't delete Sandbox team-a/pool-1: sandboxes.agents.x-k8s.io "pool-1" is forbidden: ` +
  "ValidatingAdmissionPolicy 'freeze' with binding 'freeze' denied request: change freeze until Monday";
const QUOTA = 'sandboxes "pool-3" is forbidden: exceeded quota: q';
const DRAINING = { "agents.x-k8s.io/draining": "surplus" };
const owner = { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxWarmPool", name: "pool" };

/** Puts a member of the pool on the server. */
function member(name: string, { labels = {}, uid = "uid-pool" }: { labels?: object; uid?: string } = {}): void {
  const metadata = {
    ...{ name, uid: `uid-${name}` },
    labels: { "agents.x-k8s.io/warm-pool-sandbox": nameHash("pool"), ...labels },
    ownerReferences: [{ ...owner, uid, controller: true }],
  };
  server.put(`${SANDBOXES}/${name}`, { ...aSandbox({ metadata }) });
}

const refuse = (message = WORDS, uid = "uid-pool") => failSync("SandboxWarmPool", "pool", uid, message);

const annotation = () => server.get(POOL)?.metadata.annotations?.["agents.x-k8s.io/unresolved"];
const messages = () =>
  (JSON.parse(annotation() ?? '{"problems":[]}').problems as { message: string }[])
    .map(({ message }) => message);

beforeEach(() => {
  begin();
  server.put(POOL, { ...aPool({ metadata: { creationTimestamp: NOW.toISOString() } }) });
});
afterEach(end);

test("a member that cannot be deleted is named until it is gone, and costs a request only then", async () => {
  member("pool-1", { labels: DRAINING });
  member("pool-2", { labels: DRAINING });
  await keep(60);
  expect(requests().filter(({ query }) => query?.["labelSelector"]?.includes("warm-pool"))).toEqual([]);
  refuse();
  await pass(5);
  expect(messages()).toEqual([`cannot delete Sandbox "pool-1" and 1 more: ${WORDS}`]);
  server.remove(`${SANDBOXES}/pool-2`);
  // The Event is no longer recent; what it said is still so.
  await pass(3600);
  expect(messages()).toEqual([`cannot delete Sandbox "pool-1": ${WORDS}`]);
  server.remove(`${SANDBOXES}/pool-1`);
  await pass(60);
  expect(annotation()).toBeUndefined();
  expect(keeper.actions).toEqual(["annotated", "annotated", "annotation removed"]);
});

const MARK = { metadata: { labels: { "agents.x-k8s.io/draining": "surplus" } } };

test("a member that cannot be marked is named if the pool has more than it should, in the words of a dry run", async () => {
  server.onDryRun = ({ path, body }) =>
    refusal(path === `${SANDBOXES}/pool-2` && JSON.stringify(body) === JSON.stringify(MARK) ? 422 : 200, WORDS);
  member("pool-1");
  member("pool-2");
  await keep(1);
  refuse('admission webhook "x.example.com" denied the request: no more of them');
  await pass(5);
  expect(messages()).toEqual([`cannot update Sandbox "pool-2": ${WORDS}`]);
  server.onDryRun = () => ({ status: 200, body: {} });
  await pass(60);
  expect(messages()).toEqual([]);
});

test("a member that the pool gives up for its template and cannot mark is named", async () => {
  member("pool-1");
  server.onDryRun = () => refusal(422, WORDS);
  await keep(1);
  refuse(WORDS.replace("can't delete Sandbox team-a/pool-1: ", ""));
  await pass(5);
  expect(messages()).toEqual([`cannot update Sandbox "pool-1": ${WORDS}`]);
  server.onDryRun = () => ({ status: 200, body: {} });
  await pass(60);
  expect(messages()).toEqual([]);
});

test.for<[string, () => void]>([
  ["members that are all wanted", () => (member("pool-1"), refuse())],
  ["a Sandbox that is another pool's", () => (member("pool-1", { labels: DRAINING, uid: "uid-another" }), refuse())],
  ["an Event of an earlier pool of the name", () => (member("pool-1", { labels: DRAINING }), refuse(WORDS, "uid-old"))],
  ["another failure", () => (member("pool-1", { labels: DRAINING }), refuse("sync hook failed: connection refused"))],
  ["a member that is wanted, and no answer to the dry run", () => {
    server.onDryRun = () => refusal(503, "unavailable");
    member("pool-1");
    refuse();
  }],
  ["a refused creation", () => (member("pool-1"), member("pool-2"), refuse(QUOTA))],
  ["a refused creation, and no answer to the dry run", () => {
    server.onDryRun = () => refusal(503, "unavailable");
    member("pool-1");
    member("pool-2");
    refuse(QUOTA);
  }],
  ["a refused creation, and a marked member", () => (member("pool-1", { labels: DRAINING }), refuse(QUOTA))],
])("%s: nothing is reported", async ([, happen]) => {
  await keep(1);
  happen();
  await pass(60);
  expect(annotation()).toBeUndefined();
});
