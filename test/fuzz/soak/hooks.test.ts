/** Requests of hooks, real ones and what becomes of them when somebody tampers with them. @module */
import { expect, test } from "vitest";
import { sandboxSchema } from "../../../packages/api/sandbox.ts";
import { sandboxClaimSchema } from "../../../packages/api/sandboxclaim.ts";
import { sandboxTemplateSchema } from "../../../packages/api/sandboxtemplate.ts";
import { sandboxWarmPoolSchema } from "../../../packages/api/sandboxwarmpool.ts";
import { syncSandbox } from "../../../hooks/sandbox/sync.ts";
import { syncSandboxClaim } from "../../../hooks/sandboxclaim/sync.ts";
import { syncSandboxTemplate } from "../../../hooks/sandboxtemplate/sync.ts";
import { syncSandboxWarmPool } from "../../../hooks/sandboxwarmpool/sync.ts";
import { createHookApp } from "../../../packages/webhook/app.ts";
import type { HookCalls, SentRequest } from "../../../packages/webhook/hook.ts";
import { createLog } from "../../../packages/process/log.ts";
import { compositeRequestSchema, decoratorRequestSchema } from "../../../packages/webhook/metacontroller.ts";
import { type Endpoint, readBody, replyOf } from "../../../packages/webhook/reply.ts";
import { makeHooks } from "../../../hooks/all.ts";
import { settingsOf } from "../../hooksettings.ts";
import fc, { runs } from "../../properties.ts";
import { NOW } from "../../sandboxes.ts";
import { changed, changes } from "../changes.ts";
import { corpus } from "../corpus.ts";
import { CANARY, plant, spoil } from "../secrets.ts";
import { garbled, garbling, seldom } from "../texts.ts";

const settings = settingsOf("--pool-interval-ms", "0");
const HOOKS = new Map(makeHooks([], settings).map((hook) => [hook.name, hook]));

type Reasons = Readonly<Record<string, string>> | undefined;
/** What each hook says of what it leaves out: the guard reads it, and nobody else. */
const REASONS: Record<string, (request: unknown, now: Date) => Reasons> = {
  sandbox: (request, now) => syncSandbox(compositeRequestSchema(sandboxSchema).parse(request), now, settings).deletions,
  sandboxclaim: (request, now) =>
    syncSandboxClaim(decoratorRequestSchema(sandboxClaimSchema).parse(request), now, settings).deletions,
  sandboxtemplate: (request) =>
    syncSandboxTemplate(decoratorRequestSchema(sandboxTemplateSchema).parse(request), settings).deletions,
  sandboxwarmpool: (request, now) =>
    syncSandboxWarmPool(compositeRequestSchema(sandboxWarmPoolSchema).parse(request), now, settings).deletions,
};

/** One real request, and who is asked. */
interface Asked {
  hook: HookCalls;
  endpoint: Endpoint;
  name: string;
  text: string;
}

const CORPUS: Asked[] = corpus("hooks").map(({ name, text }) => {
  const [, hook = "", endpoint] = /^hooks\/(\w+)-(sync|customize)\//.exec(name) ?? [];
  return { hook: HOOKS.get(hook)!, endpoint: endpoint as Endpoint, name, text };
});

const lines: string[] = [];
const log = createLog("debug", (line) => lines.push(line));
let clock = NOW;
const APPS = new Map([...HOOKS.values()].map((hook) => {
  // Calls that are held back would be waited for.
  const spacing = (request: SentRequest) => {
    hook.spacing?.(request);
    return undefined;
  };
  return [hook.name, createHookApp({ ...hook, spacing }, { log, now: () => clock })];
}));

type Observed = { apiVersion: string; kind: string; metadata: { name: string; deletionTimestamp?: string } };

const identityOf = ({ apiVersion, kind, metadata }: Observed) => `${apiVersion} ${kind} ${metadata.name}`;

/** No object can have the name that zod leaves out of every map. */
function valuesOf<T>(map: Record<string, T> = {}): T[] {
  return Object.entries(map).filter(([key]) => key !== "__proto__").map(([, value]) => value);
}

/** Lists the living children of a request that an answer leaves out and nobody says why; asks no guard. */
function forgotten(request: unknown, answer: unknown, reasons: Reasons): string[] {
  const { children, attachments } = request as Record<string, Record<string, Record<string, Observed>>>;
  const wanted = answer as { children?: Observed[]; attachments?: Observed[] };
  const kept = new Set((wanted.children ?? wanted.attachments ?? []).map(identityOf));
  const observed = "parent" in (request as object) ? children : attachments;
  return valuesOf(observed).flatMap(valuesOf)
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .filter((child) => !kept.has(identityOf(child)) && !reasons?.[`${child.kind}/${child.metadata.name}`])
    .map(identityOf);
}

/** Asks the hook, and holds it to what every answer owes. */
async function check({ hook, endpoint }: Asked, text: string, now: Date): Promise<number> {
  const ask = () => replyOf(hook, endpoint, readBody(text), now);
  const reply = ask();
  expect([200, 400, 429, 500]).toContain(reply.status);
  expect(ask().text, "the same request, the same bytes").toBe(reply.text);
  if (reply.status === 200 && endpoint === "sync") {
    const reasons = REASONS[hook.name]!(JSON.parse(text), now);
    expect(forgotten(JSON.parse(text), JSON.parse(reply.text), reasons)).toEqual([]);
  }
  lines.length = 0;
  clock = now;
  const answer = await APPS.get(hook.name)!.request(`/${endpoint}`, { method: "POST", body: text });
  expect([answer.status, await answer.text()], "over HTTP").toEqual([reply.status, reply.text]);
  expect(lines.length > 0, "what is refused is logged").toBe(reply.status !== 200);
  const said = [...lines, reply.status === 200 ? "" : reply.text].join("\n");
  expect(said.includes(CANARY), `a secret in: ${said}`).toBe(false);
  return reply.status;
}

const TIMES = [NOW, new Date("2027-11-21T12:00:00Z"), new Date("2026-01-01T00:00:00Z")];

test.for(CORPUS)("$name is answered as it is", async (asked) => {
  const request = JSON.parse(asked.text);
  const isFound = asked.name.includes("/found-");
  for (const now of TIMES) expect(await check(asked, asked.text, now) === 200 || isFound).toBe(true);
  plant(request);
  await check(asked, JSON.stringify(request), NOW);
});

/** A request that somebody tampered with: where it begins, and what is done to it. */
const tampered = fc.record({
  at: fc.nat(CORPUS.length - 1),
  donor: fc.nat(CORPUS.length - 1),
  changes,
  spoil: seldom(3, fc.nat(1000)),
  garbling: seldom(20, garbling),
  time: fc.constantFrom(...TIMES),
}).map(({ at, donor, spoil: spoilt, time, ...done }) => {
  const { name, text: real } = CORPUS[at]!;
  const request = changed(JSON.parse(real), done.changes, JSON.parse(CORPUS[donor]!.text));
  plant(request);
  if (spoilt !== undefined) spoil(request, spoilt);
  const text = JSON.stringify(request) ?? "";
  return { name, time, text: done.garbling ? garbled(text, done.garbling) : text };
});

test("10,000 requests that somebody tampered with: no crash, no child forgotten, no secret told", async () => {
  const statuses: Record<number, number> = {};
  await fc.assert(
    fc.asyncProperty(tampered, async ({ name, text, time }) => {
      const status = await check(CORPUS.find((asked) => asked.name === name)!, text, time);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }),
    { numRuns: runs(10_000) },
  );
  // A fuzzer whose requests are all refused at the door tries nothing.
  expect(statuses[200]).toBeGreaterThan(runs(1500));
  expect(statuses[400]).toBeGreaterThan(runs(500));
});

test("a secret is planted into most of what is asked", () => {
  const planted = CORPUS.filter(({ text }) => {
    const request = JSON.parse(text);
    return plant(request) > 0 && JSON.stringify(request).includes(CANARY);
  });
  expect(planted.length).toBeGreaterThan(CORPUS.length / 2);
});
