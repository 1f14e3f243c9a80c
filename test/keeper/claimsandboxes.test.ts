/** A claim that says something else than its Sandbox: its hook has not seen all there was, and is woken. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { begin, end, keep, pass, server } from "./stage.ts";
import { aClaim, aClaimsSandbox, aCondition, CLAIM, CLAIMS_SANDBOX, noted } from "./extensions.ts";

const woken = () => server.get(CLAIM)?.metadata.annotations?.["agents.x-k8s.io/woken-at"];
const ready = (status: "True" | "False", reason: string, shows = "s", podIPs = ["10.1.0.7"], message = "") => ({
  conditions: [{ ...aCondition("Ready", status, reason), message, observedGeneration: 1 }],
  ...(shows === "" ? {} : { sandbox: { name: shows, podIPs } }),
});
const putClaim = (status: object | undefined, metadata: object = {}) =>
  server.put(CLAIM, { ...aClaim({ metadata: { ...noted(), ...metadata }, ...(status && { status }) }) });
const putSandbox = (...args: Parameters<typeof aClaimsSandbox>) =>
  server.put(CLAIMS_SANDBOX, { ...aClaimsSandbox(...args) });

beforeEach(begin);
afterEach(end);

describe("is woken six seconds later", () => {
  test.for(
    [
      { name: "Ready, of one that is not", sandbox: "False", status: ready("True", "DependenciesReady") },
      { name: "not Ready, of one that is", sandbox: "True", status: ready("False", "DependenciesNotReady") },
      { name: "that it misses one, which is there", sandbox: "True", status: ready("False", "SandboxMissing", "") },
      { name: "nothing, of one that is Ready", sandbox: "True", status: undefined },
      { name: "another reason", sandbox: "False", status: ready("False", "SandboxSuspended") },
      { name: "an error that its Sandbox had", sandbox: "True", status: ready("False", "ReconcilerError") },
      { name: "other addresses", sandbox: "True", status: ready("True", "DependenciesReady", "s", ["10.1.0.8"]) },
      { name: "another's name", sandbox: "True", status: ready("True", "DependenciesReady", "another") },
      { name: "the name of one that is gone", sandbox: undefined, status: ready("False", "DependenciesNotReady") },
    ] as const,
  )("that says $name", async ({ sandbox, status }) => {
    if (sandbox) putSandbox(sandbox);
    putClaim(status);
    await keep(5);
    expect(woken()).toBeUndefined();
    await pass(2);
    expect(woken()).toBe("2026-11-21T12:00:06.000Z");
  });
});

describe("is left alone", () => {
  test.for(
    [
      { name: "that agrees", sandbox: "True", status: ready("True", "DependenciesReady") },
      { name: "that agrees that it is not Ready", sandbox: "False", status: ready("False", "DependenciesNotReady") },
      { name: "whose Sandbox has said nothing", sandbox: "silent", status: undefined },
      { name: "that has expired", sandbox: "True", status: ready("False", "ClaimExpired", "") },
      { name: "that has a complaint of its own", sandbox: "True", status: ready("False", "InvalidMetadata") },
      {
        name: "that wants what the template has otherwise",
        sandbox: "True",
        status: ready("False", "ReconcilerError", "s", undefined, "Error seen: metadata override conflict: x"),
      },
      {
        name: "whose Sandbox has come to its end and is gone",
        sandbox: undefined,
        status: ready("False", "PodFailed"),
      },
      { name: "that never had one", sandbox: undefined, status: undefined },
    ] as const,
  )("one $name", async ({ sandbox, status }) => {
    if (sandbox) putSandbox(sandbox === "silent" ? undefined : sandbox);
    putClaim(status);
    await keep(60);
    expect(woken()).toBeUndefined();
  });

  test("one whose Sandbox is about to go, or has no address yet", async () => {
    putSandbox("True", { metadata: { deletionTimestamp: "2026-11-21T11:59:00Z" } });
    putClaim(ready("False", "DependenciesNotReady"));
    await keep(30);
    putSandbox("True", { status: { podIPs: [] } });
    await pass(30);
    expect(woken()).toBeUndefined();
  });

  test("one that is being deleted", async () => {
    putSandbox("True");
    putClaim(undefined, { deletionTimestamp: "2026-11-21T11:59:00Z" });
    await keep(60);
    expect(woken()).toBeUndefined();
  });
});

test("what comes right within six seconds costs no request, whichever of both comes late", async () => {
  await keep(0.5);
  for (let round = 0; round < 3; round++) {
    putSandbox("False");
    putClaim(ready("False", "DependenciesNotReady"));
    await pass(20);
    putSandbox("True");
    await pass(5);
    putClaim(ready("True", "DependenciesReady"));
    await pass(20);
  }
  expect(woken()).toBeUndefined();
});

test("a Sandbox that a pool has and a claim is given later is looked at from then on", async () => {
  await keep(0.5);
  putSandbox("True", { metadata: { ownerReferences: [] } });
  putClaim(undefined);
  await pass(30);
  expect(woken()).toBeUndefined();
  putSandbox("True");
  await pass(7);
  expect(woken()).toBe("2026-11-21T12:00:36.500Z");
});

test("a Sandbox of another namespace has no part in it, whatever owner it names", async () => {
  const foreign = { ...aClaimsSandbox("True", { metadata: { namespace: "team-b", uid: "uid-foreign" } }) };
  server.put(CLAIMS_SANDBOX.replace("team-a", "team-b"), foreign);
  putClaim(undefined);
  await keep(30);
  expect(woken()).toBeUndefined();
  putSandbox("True");
  putClaim(ready("True", "DependenciesReady", "s", ["10.1.0.8"]));
  await pass(7);
  expect(woken()).toBe("2026-11-21T12:00:36.000Z");
});
