/** Requests of the router's clients, byte by byte, and what becomes of them when somebody tampers with them. @module */
import { expect, onTestFinished, test } from "vitest";
import fc, { runs } from "../properties.ts";
import { errorFields } from "../../lib/log.ts";
import { until } from "../eventually.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { corpus } from "./corpus.ts";
import { changedMessage, filled, type Message, messageChanges, messageOf, textOf } from "./messages.ts";
import { type Routers, startRouters, type Tried } from "./routers.ts";
import { CANARY } from "./secrets.ts";
import { garbled, garbling, seldom } from "./texts.ts";
import { type Leaving, leaving, openResources, speak, watchForCrashes } from "./wire.ts";

const CORPUS = corpus("router").map((entry) => ({ name: entry.name, message: messageOf(entry) }));
const TARGETS = [
  ...[
    "/s/team-a/demo/{PORT}",
    "/s/team-a/demo/{PORT}/",
    "/s/team-a/demo/{PORT}//x",
    "/s/team-a/demo/99999/x",
    "/s/a/b",
  ],
  ...[
    "/s/%2e%2e/demo/{PORT}/x",
    "/s/team-a/demo/{PORT}/../x",
    "/s//demo/{PORT}/x",
    "/s/team-b/demo/{PORT}/x",
    "/s",
    "/s/",
  ],
  ...["/s/team-a/gone/{PORT}/x", "/s/team-a/asleep/{PORT}/x", "/s/team-a/demo/8080/.hookbox/terminal/%2e%2e/x"],
];

/** What the client's token must not be found in: answers to others than itself, and logs. */
function told(answer: string): string {
  return answer.replace(/^set-cookie:.*$/gim, "");
}

/** Asks, and holds the router to what it owes every client. */
async function check(stage: Routers, router: Tried, text: string, how: Leaving): Promise<string> {
  stage.lines.length = 0;
  stage.seen.length = 0;
  const answer = await speak(router.port, text, how);
  // HTTP/2 in the clear begins with the server's settings.
  expect(answer, "an answer, or none").toMatch(/^(HTTP\/1\.[01] \d{3} |\0\0|$)/);
  for (const secret of [CANARY, router.token]) {
    expect(stage.lines.join("\n").includes(secret), `a secret in ${stage.lines}`).toBe(false);
    expect(told(answer).includes(secret), `a secret in ${answer}`).toBe(false);
  }
  const isKept = !router.keepsToken || !stage.seen.join("\n").includes(router.token);
  expect(isKept, `a secret in what reaches the sandbox: ${stage.seen}`).toBe(true);
  return /^HTTP\/1\.[01] (\d{3})/.exec(answer)?.[1] ?? "";
}

async function start(): Promise<Routers> {
  const stage = await startRouters(makeTempFolder());
  onTestFinished(() => stage.stop());
  return stage;
}

test("what there is to begin with is answered by each router as it should be", async () => {
  const stage = await start();
  const statuses: Record<string, string> = {};
  for (const { name, message } of CORPUS) {
    const found = [];
    for (const router of stage.routers) {
      found.push(await check(stage, router, textOf(filled(message, stage.backend, router.token)), "patient"));
    }
    statuses[name] = found.join(" ");
  }
  expect(statuses).toMatchInlineSnapshot(`
    {
      "router/asleep.http": "503 403 403 401",
      "router/by-address.http": "200 403 200 401",
      "router/by-headers.http": "200 200 200 401",
      "router/by-host.http": "200 200 200 401",
      "router/by-path.http": "200 200 200 401",
      "router/chunked.http": "200 200 200 401",
      "router/expects.http": "100 100 100 401",
      "router/found-called-http2.http": "200 200 200 401",
      "router/health.http": "200 200 200 200",
      "router/http2.http": "400  400 ",
      "router/pipelined.http": "200 200 200 401",
      "router/terminal-file.http": "200 200 200 401",
      "router/terminal-page.http": "200 303 303 401",
      "router/traced.http": "200 200 200 401",
      "router/wake-poll.http": "200 403 403 401",
    }
  `);
});

/** A request that somebody tampered with. */
const tampered = fc.record({
  at: fc.nat(CORPUS.length - 1),
  changes: messageChanges,
  garbling: seldom(15, garbling),
  how: leaving,
  router: fc.nat(3),
});

test("10,000 requests that somebody tampered with: the router lives, each is answered or ended, no token told", async () => {
  const before = openResources();
  const stage = await startRouters(makeTempFolder());
  const { crashes, stop } = watchForCrashes();
  const statuses: Record<string, number> = {};
  try {
    await fc.assert(
      fc.asyncProperty(tampered, async ({ at, changes, garbling: garbles, how, router: which }) => {
        const router = stage.routers[which]!;
        const message: Message = changedMessage(CORPUS[at]!.message, changes, TARGETS);
        // Nobody knows where a token comes to lie in what is garbled.
        const token = garbles ? "token" : router.token;
        const whole = textOf(filled(message, stage.backend, token));
        const text = garbles ? garbled(whole, garbles) : whole;
        crashes.length = 0;
        try {
          const status = await check(stage, router, text, how);
          statuses[status] = (statuses[status] ?? 0) + 1;
          expect(crashes.map(errorFields)).toEqual([]);
        } catch (cause) {
          throw new Error(`Sent to router ${which}, left by ${how}: ${JSON.stringify(text)}`, { cause });
        }
      }),
      { numRuns: runs(10_000) },
    );
    for (const router of stage.routers) {
      expect(await speak(router.port, HEALTH, "patient")).toMatch(/^HTTP\/1\.1 200 /);
    }
  } finally {
    stop();
    await stage.stop();
  }
  await until(() => openResources() <= before);
  // A fuzzer whose requests are all refused at the door tries nothing.
  expect(statuses["200"]).toBeGreaterThan(runs(500));
});

const HEALTH = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
