/** A claim whose Sandbox the API server does not let Metacontroller change or delete: what the keeper reports, and for how long. @module */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { refusal } from "../kube/fakeapi.ts";
import { aClaim, aClaimsSandbox, aCondition, CLAIM, CLAIMS_SANDBOX, noted } from "./extensions.ts";
import { asked, begin, end, failSync, keep, keeper, pass, server } from "./stage.ts";

const REPORT = "agents.x-k8s.io/refused-write";
const WORDS = `can't update Sandbox team-a/s: sandboxes.agents.x-k8s.io "s" is forbidden: ` +
  "ValidatingAdmissionPolicy 'freeze' with binding 'freeze' denied request: change freeze until Monday";
const BOUND = {
  sandbox: { name: "s", podIPs: ["10.1.0.7"] },
  conditions: [aCondition("Ready", "True", "DependenciesReady", { observedGeneration: 1 })],
};
const WANTS = { warmPoolRef: { name: "pool" }, additionalPodMetadata: { labels: { "sandbox.users.io/team": "red" } } };
const RETAIN = {
  warmPoolRef: { name: "pool" },
  lifecycle: { shutdownTime: "2026-11-21T11:00:00Z", shutdownPolicy: "Retain" },
};
const EXPIRED = {
  ...BOUND,
  conditions: [aCondition("Ready", "False", "ClaimExpired", { observedGeneration: 1 })],
};
/** What Metacontroller records when the update of {@link WANTS} succeeds. */
const RECORD = { "agents.x-k8s.io/claim-pod-metadata": `{"labels":{"sandbox.users.io/team":"red"}}` };
const GOING = { deletionTimestamp: "2026-11-21T12:00:00Z" };

const refuse = (message = WORDS, uid = "uid-job") => failSync("SandboxClaim", "job", uid, message);
const putClaim = (spec: object, status: object = BOUND, metadata: object = {}) =>
  server.put(CLAIM, { ...aClaim({ spec, status, metadata: { ...noted(), ...metadata } }) });
/** Puts the claim's Sandbox; what the keeper has written stays. */
function putSandbox({ annotations = {}, ...metadata }: { annotations?: object; [field: string]: unknown } = {}): void {
  const own = { ...aClaimsSandbox().metadata.annotations, ...server.get(CLAIMS_SANDBOX)?.metadata.annotations };
  const over = { ...metadata, annotations: { ...own, ...annotations } };
  server.put(CLAIMS_SANDBOX, { ...aClaimsSandbox("True", { metadata: over }) });
}
const reported = () => {
  const text = server.get(CLAIMS_SANDBOX)?.metadata.annotations?.[REPORT];
  return text === undefined ? undefined : JSON.parse(text);
};
const writes = () => asked().filter((request) => !request.startsWith("GET"));

beforeEach(() => {
  begin();
  putSandbox();
});
afterEach(end);

describe("a Sandbox whose metadata the API server does not let Metacontroller change", () => {
  beforeEach(() => void putClaim(WANTS));

  test("has a report after a moment, until the write has succeeded; and costs a request only then", async () => {
    await keep(60);
    expect(asked()).toEqual([]);
    refuse();
    await pass(1.4);
    expect(writes()).toEqual([]);
    await pass(0.2);
    expect(reported()).toEqual({ verb: "update", words: WORDS });
    // The Event is no longer recent; what it said is still so.
    await pass(3600);
    expect(reported()).toEqual({ verb: "update", words: WORDS });
    putSandbox({ annotations: RECORD });
    await pass(2);
    expect(reported()).toBeUndefined();
    expect(keeper.actions).toEqual(["annotated", "annotation removed"]);
    expect(new Set(writes()), "nothing is written to the claim").toEqual(new Set(["PATCH sandboxes/s"]));
    const before = asked().length;
    await pass(3600);
    expect(asked().length, "the Event is long past, and nothing is looked for").toBe(before);
  });

  test("is looked at twice a minute, and written to once", async () => {
    await keep(1);
    refuse();
    await pass(600);
    expect(writes()).toEqual(["PATCH sandboxes/s"]);
    expect(asked().length).toBeGreaterThan(20);
    expect(asked().length).toBeLessThan(30);
  });

  test("has no report once its claim no longer wants the metadata", async () => {
    await keep(1);
    refuse();
    await pass(60);
    putClaim({ warmPoolRef: { name: "pool" } });
    await pass(31);
    expect(reported()).toBeUndefined();
  });

  test("has the API server's latest words", async () => {
    await keep(1);
    refuse();
    await pass(60);
    const later = WORDS.replace("Monday", "Tuesday");
    refuse(later);
    await pass(2);
    expect(reported()).toEqual({ verb: "update", words: later });
  });

  test("that is large is asked for, and has its report", async () => {
    server.put(CLAIMS_SANDBOX, {
      ...aClaimsSandbox("True", { metadata: { labels: { large: "x".repeat(20_000) } } }),
    });
    await keep(1);
    refuse();
    await pass(5);
    expect(reported()).toEqual({ verb: "update", words: WORDS });
  });

  test("has its report from a keeper that starts after the Event, and loses it by the next keeper", async () => {
    refuse();
    await keep(5);
    expect(reported()).toEqual({ verb: "update", words: WORDS });
    keeper.kill();
    server.remove("/api/v1/namespaces/team-a/events/refused");
    await pass(3600);
    await keep(60);
    expect(reported(), "nobody has seen the Event, and the write is still outstanding").toBeDefined();
    expect(keeper.actions).toEqual([]);
    keeper.kill();
    putSandbox({ annotations: RECORD });
    await keep(2);
    expect(reported()).toBeUndefined();
    expect(keeper.actions).toEqual(["annotation removed"]);
  });

  test.for([403, 422, 400])(
    "cannot have its report if that is refused, too (%d): the keeper says so, and goes on",
    async (
      status,
    ) => {
      const lines: string[] = [];
      server.intercept = ({ method }) => method === "PATCH" ? refusal(status, "denied request: freeze") : undefined;
      await keep(1, { log: (line) => lines.push(line) });
      refuse();
      await pass(60);
      const looks = writes().length;
      expect(looks).toBeGreaterThan(2);
      expect(lines).toEqual(Array.from({ length: looks }, () => expect.stringMatching(/^Cannot report on a Sandbox/)));
      expect(keeper.actions).toEqual([]);
      server.intercept = () => undefined;
      await pass(31);
      expect(reported()).toBeDefined();
    },
  );

  test("has its report, and loses it, though it changes just before", async () => {
    await keep(1);
    const changeFirst = () => {
      let isFirst = true;
      server.intercept = ({ method }) => {
        if (method === "PATCH" && isFirst) putSandbox({ labels: { a: "b" } });
        if (method === "PATCH") isFirst = false;
        return undefined;
      };
    };
    changeFirst();
    refuse();
    await pass(10);
    expect(reported()).toBeDefined();
    expect(server.get(CLAIMS_SANDBOX)?.metadata.labels).toEqual({ a: "b" });
    changeFirst();
    putSandbox({ annotations: RECORD });
    await pass(10);
    expect(reported()).toBeUndefined();
    expect(writes(), "half of them were for another version").toHaveLength(4);
  });

  test("is looked at again while the Event is recent: what the claim wants may not have been seen", async () => {
    putClaim({ warmPoolRef: { name: "pool" } });
    await keep(1);
    refuse();
    await pass(5);
    putClaim(WANTS);
    await pass(31);
    expect(reported()).toBeDefined();
  });
});

test("a Sandbox of an expired claim that cannot be deleted has a report", async () => {
  putClaim(RETAIN, EXPIRED);
  await keep(1);
  refuse();
  await pass(5);
  expect(reported()).toEqual({ verb: "delete", words: WORDS });
  server.remove(CLAIMS_SANDBOX);
  const before = asked().length;
  await pass(60);
  expect(asked().length, "it is gone").toBe(before);
});

describe("nothing is reported", () => {
  test.for<[string, () => void]>([
    ["of a Sandbox that is as the claim wants it", () => (putClaim({ warmPoolRef: { name: "pool" } }), refuse())],
    ["on an Event of an earlier claim of the name", () => (putClaim(WANTS), refuse(WORDS, "uid-old"))],
    ["of another failure", () => (putClaim(WANTS), refuse("sync hook failed: connection refused"))],
    ["of a claim that is not bound", () => (putClaim(WANTS, {}), refuse())],
    ["of a claim that is bound to another Sandbox", () => (putClaim(WANTS, { sandbox: { name: "t" } }), refuse())],
    ["of a claim that is being deleted", () => (putClaim(WANTS, BOUND, GOING), refuse())],
    ["of a Sandbox that is being deleted", () => (putClaim(WANTS), putSandbox(GOING), refuse())],
    ["of a Sandbox that another claim controls", () => {
      putClaim(WANTS);
      const owner = { apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxClaim", name: "other" };
      putSandbox({ ownerReferences: [{ ...owner, uid: "uid-other", controller: true }] });
      refuse();
    }],
  ])("%s", async ([, prepare]) => {
    await keep(1);
    prepare();
    await pass(1);
    // By now the refusal is known, and the Sandbox changes.
    server.put(CLAIMS_SANDBOX, { ...server.get(CLAIMS_SANDBOX) });
    await pass(120);
    expect(reported()).toBeUndefined();
    expect(writes()).toEqual([]);
  });
});

describe("a report that somebody has left", () => {
  const left = { [REPORT]: JSON.stringify({ verb: "update", words: WORDS }) };

  test.for<[string, () => void]>([
    ["on a Sandbox that no claim has", () => putSandbox({ annotations: left, ownerReferences: [] })],
    ["on a Sandbox whose claim is gone", () => (server.remove(CLAIM), putSandbox({ annotations: left }))],
    ["on a Sandbox whose claim was made anew", () => {
      putClaim(WANTS, BOUND, { uid: "uid-new" });
      putSandbox({ annotations: left });
    }],
    ["that cannot be read", () => (putClaim(WANTS), putSandbox({ annotations: { [REPORT]: "{" } }))],
  ])("%s is removed", async ([, prepare]) => {
    putClaim(WANTS);
    prepare();
    await keep(3);
    expect(server.get(CLAIMS_SANDBOX)?.metadata.annotations).not.toHaveProperty([REPORT]);
    await pass(600);
    expect(writes()).toEqual(["PATCH sandboxes/s"]);
  });
});
