/** Many claims that wait for their hook: the keeper requeues those that were forgotten, and no others. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { EXPIRED, patched, putClaim, putSandbox, type Shown, SUSPENDED } from "./claimstate.ts";
import { CLAIM } from "./extensions.ts";
import { begin, end, keep, pass, server } from "./stage.ts";

beforeEach(begin);
afterEach(end);

const wokenNames = () => [...new Set(patched().map((request) => request.replace("PATCH sandboxes/", "")))].toSorted();
const NUMBERS = Array.from({ length: 100 }, (_, index) => index + 1);

test("claims that are answered one after the other cost no request, however long that takes", async () => {
  for (const number of NUMBERS) putClaim({}, number), putSandbox({}, number);
  await keep(60);
  for (const number of NUMBERS) putSandbox({ ready: SUSPENDED, podIPs: [] }, number);
  for (const number of NUMBERS) {
    await pass(1);
    putClaim({ ready: SUSPENDED, podIPs: [] }, number);
  }
  await pass(600);
  expect(patched()).toEqual([]);
});

test("claims that were edited, and are answered one after the other, cost no request", async () => {
  for (const number of NUMBERS) putClaim({}, number), putSandbox({}, number);
  await keep(60);
  for (const number of NUMBERS) putClaim({ generation: 2 }, number);
  for (const number of NUMBERS) {
    await pass(1);
    putClaim({ generation: 2, observed: 2 }, number);
  }
  await pass(600);
  expect(patched()).toEqual([]);
});

test("claims that expire at once, and are answered one after the other, cost no request", async () => {
  const spec = { lifecycle: { shutdownTime: "2026-11-21T12:10:00Z" } };
  for (const number of NUMBERS) putClaim({ spec }, number), putSandbox({}, number);
  await keep(600);
  for (const number of NUMBERS) {
    await pass(1);
    putClaim({ spec, ready: EXPIRED }, number);
  }
  await pass(600);
  expect(patched()).toEqual([]);
});

test("claims that expire later, and are answered now, do not show that others have expired and were forgotten", async () => {
  const now = { lifecycle: { shutdownTime: "2026-11-21T12:10:00Z" } };
  const later = { lifecycle: { shutdownTime: "2026-11-21T12:30:00Z" } };
  for (const number of NUMBERS) putClaim({ spec: number <= 50 ? now : later }, number), putSandbox({}, number);
  await keep(600);
  for (const number of NUMBERS.slice(0, 50)) {
    await pass(1);
    putClaim({ spec: now, ready: EXPIRED }, number);
    // The watch of claims is ahead.
    putClaim({ spec: later, ready: SUSPENDED, podIPs: [] }, number + 50);
    await pass(0.01);
    putSandbox({ ready: SUSPENDED, podIPs: [] }, number + 50);
  }
  await pass(600);
  expect(patched()).toEqual([]);
});

test("a claim that waits while younger ones are answered is requeued six seconds after it began to wait", async () => {
  for (const number of NUMBERS) putClaim({}, number), putSandbox({}, number);
  await keep(60);
  for (const number of NUMBERS.slice(0, 40)) {
    putSandbox({ ready: SUSPENDED, podIPs: [] }, number);
    await pass(0.2);
    if (number !== 10) putClaim({ ready: SUSPENDED, podIPs: [] }, number);
  }
  expect(wokenNames()).toEqual(["s10"]);
});

/** Lets the hook answer each requeued claim a moment later. */
function answerRequeues(): void {
  server.intercept = ({ method, path }) => {
    const number = Number(path.split("/s").at(-1));
    if (method === "PATCH") setTimeout(() => putClaim({ ready: SUSPENDED, podIPs: [] }, number), 50);
    return undefined;
  };
}
const wrong = () =>
  NUMBERS.filter((number) => !JSON.stringify(server.get(`${CLAIM}${number}`)).includes("SandboxSuspended"));

test("claims that changed while the hook was down are all right a few seconds after it is back", async () => {
  for (const number of NUMBERS) putClaim({}, number), putSandbox({}, number);
  await keep(600);
  for (const number of NUMBERS) {
    putSandbox({ ready: SUSPENDED, podIPs: [] }, number);
    await pass(2.5);
  }
  expect(wrong()).toHaveLength(100);
  answerRequeues();
  await pass(13);
  expect(wrong()).toEqual([]);
  const before = patched().length;
  await pass(3600);
  expect(patched().length).toBe(before);
});

test("claims that began to wait at once are requeued twenty in six seconds, and once more when the hook is back", async () => {
  for (const number of NUMBERS) putClaim({}, number), putSandbox({}, number);
  await keep(600);
  for (const number of NUMBERS) putSandbox({ ready: SUSPENDED, podIPs: [] }, number);
  await pass(7);
  expect(wokenNames()).toHaveLength(20);
  await pass(213);
  expect(wokenNames()).toHaveLength(100);
  // The next planned time is 80 seconds away. One is answered by itself.
  putClaim({ ready: SUSPENDED, podIPs: [] }, 1);
  answerRequeues();
  await pass(35);
  expect(wrong()).toEqual([]);
});

test("a difference that no answer removes costs no more requests because others are answered", async () => {
  putClaim(), putSandbox({ ready: SUSPENDED, podIPs: [] });
  for (const number of NUMBERS) putClaim({}, number), putSandbox({}, number);
  await keep(0);
  for (let second = 0; second < 3600; second++) {
    const number = NUMBERS[second % NUMBERS.length] ?? 1;
    const shown: Shown = second % 200 < 100 ? { ready: SUSPENDED, podIPs: [] } : {};
    putSandbox(shown, number);
    await pass(0.5);
    putClaim(shown, number);
    await pass(0.5);
  }
  expect(wokenNames()).toEqual(["s"]);
  expect(patched().length).toBeLessThan(14);
});
