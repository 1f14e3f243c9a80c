/** Which write of a claim's Sandbox is outstanding. @module */
import { expect, test } from "vitest";
import { outstandingWrite } from "../../packages/keeper/stucksandbox.ts";
import { aClaim, aClaimsSandbox, aCondition } from "./extensions.ts";

const WANTS = { additionalPodMetadata: { labels: { "sandbox.users.io/team": "red" } } };
const RETAIN = { lifecycle: { shutdownTime: "2026-11-21T11:00:00Z", shutdownPolicy: "Retain" } };
const readyAs = (status: string, reason: string) => ({
  sandbox: { name: "s" },
  conditions: [aCondition("Ready", status, reason, { observedGeneration: 1 })],
});
const BOUND = readyAs("True", "DependenciesReady");
const EXPIRED = readyAs("False", "ClaimExpired");

const sandbox = aClaimsSandbox("True");
const going = aClaimsSandbox("True", { metadata: { deletionTimestamp: "2026-11-21T12:00:00Z" } });
const ANY = { allowedLabelDomains: ["sandbox.users.io"] };

test.for(
  [
    ["wanted labels", { spec: WANTS, status: BOUND }, sandbox, ANY, "update"],
    ["wanted labels of a forbidden domain", { spec: WANTS, status: BOUND }, sandbox, {
      allowedLabelDomains: ["x.example"],
    }, undefined],
    ["no wishes", { status: BOUND }, sandbox, ANY, undefined],
    ["an expired claim", { spec: RETAIN, status: EXPIRED }, sandbox, ANY, "delete"],
    ["an expired claim that the keeper deletes", { status: EXPIRED }, sandbox, ANY, undefined],
    ["a Sandbox that is being deleted", { spec: RETAIN, status: EXPIRED }, going, ANY, undefined],
  ] as const,
)("outstandingWrite() of %s", ([, claim, of, allowed, want]) => {
  expect(outstandingWrite(aClaim(claim), of, allowed)).toBe(want);
});
