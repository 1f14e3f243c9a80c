/** Requests of the router's clients, byte by byte, and what becomes of them when somebody tampers with them. @module */
import { expect, onTestFinished, test } from "vitest";
import fc, { runs } from "../../properties.ts";
import { makeTempFolder } from "../../tempfolder.ts";
import { corpus } from "../corpus.ts";
import { changedMessage, filled, messageChanges, messageOf, textOf } from "../messages.ts";
import { type Routers, startRouters, type Tried } from "../routers.ts";
import { CANARY } from "../secrets.ts";
import { statusOf, tryTampering } from "../tampering.ts";
import { garbled, garbling, seldom } from "../texts.ts";
import { type Leaving, leaving, speak } from "../wire.ts";

const CORPUS = corpus("router").map((entry) => ({ name: entry.name, message: messageOf(entry) }));
const TARGETS = `
  /s/team-a/demo/{PORT} /s/team-a/demo/{PORT}/ /s/team-a/demo/{PORT}//x /s/team-a/demo/99999/x /s/a/b
  /s/%2e%2e/demo/{PORT}/x /s/team-a/demo/{PORT}/../x /s//demo/{PORT}/x /s/team-b/demo/{PORT}/x /s /s/
  /s/team-a/gone/{PORT}/x /s/team-a/asleep/{PORT}/x /s/team-a/demo/8080/.hookbox/terminal/%2e%2e/x
`.trim().split(/\s+/);

/** What the client's token must not be found in: answers to others than itself, and logs. */
function told(answer: string): string {
  return answer.replace(/^set-cookie:.*$/gim, "");
}

/** Asks, and holds the router to what it owes every client. */
async function check(stage: Routers, router: Tried, text: string, how: Leaving): Promise<string> {
  stage.lines.length = 0;
  stage.seen.length = 0;
  const answer = await speak(router.port, text, how);
  for (const secret of [CANARY, router.token]) {
    expect(stage.lines.join("\n").includes(secret), `a secret in ${stage.lines}`).toBe(false);
    expect(told(answer).includes(secret), `a secret in ${answer}`).toBe(false);
  }
  const isKept = !router.keepsToken || !stage.seen.join("\n").includes(router.token);
  expect(isKept, `a secret in what reaches the sandbox: ${stage.seen}`).toBe(true);
  return statusOf(answer);
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
  const statuses = await tryTampering({
    start: () => startRouters(makeTempFolder()),
    drawn: tampered,
    input(stage, { at, changes, garbling: garbles, how, router: which }) {
      const router = stage.routers[which]!;
      const message = changedMessage(CORPUS[at]!.message, changes, TARGETS);
      // Nobody knows where a token comes to lie in what is garbled.
      const whole = textOf(filled(message, stage.backend, garbles ? "token" : router.token));
      const text = garbles ? garbled(whole, garbles) : whole;
      return { to: `router ${which}`, text, how, send: (text, how) => check(stage, router, text, how) };
    },
    async after({ routers }) {
      for (const { port } of routers) expect(await speak(port, HEALTH, "patient")).toMatch(/^HTTP\/1\.1 200 /);
    },
  });
  expect(statuses["200"]).toBeGreaterThan(runs(500));
});

const HEALTH = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
