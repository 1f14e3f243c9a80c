/** Claims that the binder takes no note of: the keeper does, so that their hook is asked. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { asked, begin, end, keep, pass, server } from "./duty.ts";
import { aClaim, CLAIM, noted } from "./extensions.ts";
import { refusal } from "../kube/fakeapi.ts";

const OBSERVED = "agents.x-k8s.io/controller-first-observed-at";
/** Noon is when the clock starts. */
const CREATED = { creationTimestamp: "2026-11-21T12:00:00Z" };
const putClaim = (metadata: object = {}) =>
  server.put(CLAIM, {
    ...aClaim({ metadata: { ...CREATED, ...metadata }, status: { sandbox: { name: "s" } } }),
  });
const observed = () => server.get(CLAIM)?.metadata.annotations?.[OBSERVED];

beforeEach(begin);
afterEach(end);

describe("a claim that nobody has taken note of", () => {
  test("is annotated ten seconds after its creation, with when it was first seen", async () => {
    await keep(0.5);
    putClaim();
    await pass(9);
    expect(asked()).toEqual([]);
    await pass(2);
    expect(observed()).toBe("2026-11-21T12:00:00.500Z");
    await pass(60);
    expect(asked()).toEqual(["PATCH sandboxclaims/job"]);
  });

  test("is annotated at once by a keeper that starts later", async () => {
    putClaim({ creationTimestamp: "2026-11-21T11:00:00Z" });
    await keep(0.1);
    expect(observed()).toBe("2026-11-21T12:00:00.000Z");
  });

  test("is looked at again where it has changed meanwhile", async () => {
    server.intercept = ({ method }) => method === "PATCH" ? refusal(409, "changed") : undefined;
    putClaim();
    await keep(60);
    expect(asked()).toEqual(["PATCH sandboxclaims/job"]);
    server.intercept = () => undefined;
    putClaim({ labels: { a: "b" } });
    await pass(0.1);
    expect(observed()).toBe("2026-11-21T12:00:00.000Z");
  });

  test.for([
    { name: "that somebody has taken note of", metadata: noted() },
    { name: "that is being deleted", metadata: { deletionTimestamp: "2026-11-21T12:00:00Z" } },
  ])("one $name is left alone", async ({ metadata }) => {
    putClaim(metadata);
    await keep(60);
    expect(asked()).toEqual([]);
  });
});
