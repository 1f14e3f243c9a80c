/** A hook that is rolled is asked about what exists: every parent of its kind is woken once, a few in a second. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { rolledAt } from "../../packages/keeper/rollouts.ts";
import { refusal } from "../kube/fakeapi.ts";
import { aSandbox } from "../sandboxes.ts";
import { asked, begin, end, keep, keeper, pass, server } from "./stage.ts";
import { aClaim, aClaimsSandbox, aCondition, aPool, CLAIM, CLAIMS_SANDBOX, noted, POOL } from "./extensions.ts";
import { SANDBOX } from "./keeping.ts";

/** Noon is when the clock starts. */
const at = (clock: string) => `2026-11-21T${clock}Z`;
const READY = { observedGeneration: 1, conditions: [aCondition("Ready", "True", "DependenciesReady")] };
const putSandbox = (name: string, metadata: object = {}) =>
  server.put(SANDBOX.replace("demo", name), {
    ...aSandbox({ metadata: { name, uid: name, creationTimestamp: at("11:00:00"), ...metadata }, status: READY }),
  });
const rolled = (hook: string, lastUpdateTime: string, reason = "NewReplicaSetAvailable") =>
  server.put(`/apis/apps/v1/namespaces/system/deployments/${hook}`, {
    metadata: {
      ...{ name: hook, namespace: "system", uid: `deployment-${hook}` },
      labels: {
        "app.kubernetes.io/name": hook,
        "app.kubernetes.io/part-of": "hookbox",
        "app.kubernetes.io/component": "hook",
      },
    },
    status: { conditions: [{ type: "Available" }, { type: "Progressing", reason, lastUpdateTime }] },
  });
const wokenAt = (path: string) => server.get(path)?.metadata.annotations?.["agents.x-k8s.io/woken-at"];
const run = (seconds: number) => keep(seconds, { hooksNamespace: "system" });
const patches = () => asked().filter((request) => request.startsWith("PATCH"));

beforeEach(begin);
afterEach(end);

describe("once a hook was rolled", () => {
  test("each of its parents is woken once, five seconds later", async () => {
    ["a", "b"].forEach((name) => putSandbox(name));
    server.put(POOL, aPool());
    await run(10);
    rolled("sandbox", at("12:00:10"));
    await pass(4);
    expect(patches()).toEqual([]);
    await pass(2);
    expect(patches()).toEqual(["PATCH sandboxes/a", "PATCH sandboxes/b"]);
    expect(wokenAt(SANDBOX.replace("demo", "a"))).toBe("2026-11-21T12:00:15.000Z");
    rolled("sandbox", at("12:00:10"));
    await pass(3600);
    expect(patches()).toHaveLength(2);
  });

  test("they are woken again by the next rollout, and not while it is under way", async () => {
    putSandbox("a");
    rolled("sandbox", at("11:30:00"));
    await run(10);
    expect(patches()).toHaveLength(1);
    rolled("sandbox", at("12:00:10"), "ReplicaSetUpdated");
    await pass(60);
    expect(patches()).toHaveLength(1);
    rolled("sandbox", at("12:01:10"));
    await pass(60);
    expect(patches()).toHaveLength(2);
  });

  test("twenty in a second at most", async () => {
    for (let number = 0; number < 100; number++) putSandbox(`s${number}`);
    rolled("sandbox", at("11:30:00"));
    await run(2);
    expect(patches().length).toBeGreaterThan(35);
    expect(patches().length).toBeLessThan(45);
    await pass(4);
    expect(new Set(patches()).size).toBe(100);
  });

  test("a keeper that is killed in the midst of it leaves the rest to the next one", async () => {
    for (let number = 0; number < 100; number++) putSandbox(`s${number}`);
    rolled("sandbox", at("11:30:00"));
    await run(2);
    keeper.kill();
    await run(20);
    expect(patches()).toHaveLength(100);
    expect(new Set(patches()).size).toBe(100);
  });

  test("what is younger than the rollout, or about to go, is left alone", async () => {
    putSandbox("younger", { creationTimestamp: at("11:30:01") });
    putSandbox("going", { deletionTimestamp: at("11:59:00") });
    rolled("sandbox", at("11:30:00"));
    await run(60);
    expect(patches()).toEqual([]);
  });

  test("one that cannot be changed does not keep the others", async () => {
    ["a", "b"].forEach((name) => putSandbox(name));
    server.intercept = ({ method, path }) =>
      method === "PATCH" && path.endsWith("/a") ? refusal(422, "invalid") : undefined;
    rolled("sandbox", at("11:30:00"));
    await run(60);
    expect(patches()).toEqual(["PATCH sandboxes/a", "PATCH sandboxes/b"]);
  });

  test("pools are annotated for their own hook", async () => {
    server.put(POOL, aPool({ metadata: { creationTimestamp: at("11:00:00") } }));
    putSandbox("a");
    rolled("sandboxwarmpool", at("11:30:00"));
    await run(5);
    expect(patches()).toEqual(["PATCH sandboxwarmpools/pool"]);
  });

  test("for the claims' hook, the claims' Sandboxes are annotated: the keeper writes to no claim", async () => {
    const created = { creationTimestamp: at("11:00:00") };
    putSandbox("nobodys");
    server.put(CLAIM, aClaim({ metadata: { ...noted(), ...created }, status: { sandbox: { name: "s" } } }));
    server.put(CLAIMS_SANDBOX, { ...aClaimsSandbox("True", { metadata: created }) });
    rolled("sandboxclaim", at("11:30:00"));
    await run(5);
    expect(patches()).toEqual(["PATCH sandboxes/s"]);
  });

  test("an annotation from the time in which old Pods still answer does not count", async () => {
    const annotations = { "agents.x-k8s.io/woken-at": at("11:30:04") };
    putSandbox("early", { annotations });
    putSandbox("late", { annotations: { "agents.x-k8s.io/woken-at": at("11:30:05") } });
    rolled("sandbox", at("11:30:00"));
    await run(5);
    expect(patches()).toEqual(["PATCH sandboxes/early"]);
  });
});

test.for([
  { name: "without a status", status: undefined },
  {
    name: "whose rollout has failed",
    status: { conditions: [{ type: "Progressing", reason: "ProgressDeadlineExceeded" }] },
  },
  { name: "without a time", status: { conditions: [{ type: "Progressing", reason: "NewReplicaSetAvailable" }] } },
])("a Deployment $name was not rolled", ({ status }) => {
  expect(rolledAt({ metadata: { name: "sandbox" }, ...(status && { status }) })).toBeUndefined();
});
