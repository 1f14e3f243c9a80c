/** Requests for another protocol, byte by byte, to every listener there is, tampered with. @module */
import { expect, test } from "vitest";
import fc, { runs } from "../../properties.ts";
import { makeTempFolder } from "../../tempfolder.ts";
import { corpus } from "../corpus.ts";
import { changedMessage, filled, messageChanges, messageOf, textOf } from "../messages.ts";
import { startPlainServers } from "../plainservers.ts";
import { startRouters } from "../routers.ts";
import { startRuntimes } from "../runtimes.ts";
import { CANARY } from "../secrets.ts";
import { statusOf, tryTampering } from "../tampering.ts";
import { garbled, garbling, seldom } from "../texts.ts";
import { type Leaving, leaving, speak } from "../wire.ts";

const messagesOf = (folder: string) => corpus(folder).map(messageOf);
const ROUTER = messagesOf("upgrades/router");
const RUNTIME = messagesOf("upgrades/runtime");
const PLAIN = messagesOf("upgrades/plain");

/** One port that listens: what it is sent, what opens it, and a path that it answers with 200. */
interface Listener {
  name: string;
  port: number;
  messages: typeof ROUTER;
  token: string;
  healthy: string;
}

/** Starts everything; `lines` grows with all logs. */
async function startAll() {
  const routers = await startRouters(makeTempFolder());
  const runtimes = await startRuntimes(makeTempFolder());
  const plain = await startPlainServers(makeTempFolder());
  const listeners: Listener[] = [
    ...routers.routers.map(({ port, token }, at) => {
      return { name: `router ${at}`, port, token, messages: ROUTER, healthy: "/healthz" };
    }),
    ...runtimes.runtimes.flatMap(({ port, restPort }, at) => [
      { name: `runtime ${at}`, port: restPort, token: runtimes.token, messages: RUNTIME, healthy: "/v1/health" },
      { name: `legacy ${at}`, port, token: runtimes.token, messages: RUNTIME, healthy: "/" },
    ]),
    ...Object.entries(plain.ports).map(([name, port]) => {
      return { name, port, token: plain.token, messages: PLAIN, healthy: "/healthz" };
    }),
  ];
  const logs = [routers.lines, runtimes.lines, plain.lines];
  return {
    listeners,
    backend: routers.backend,
    takeLines: () => logs.flatMap((lines) => lines.splice(0)).join("\n"),
    async stop() {
      await Promise.all([routers.stop(), runtimes.stop(), plain.stop()]);
    },
  };
}

const TARGETS = `
  /v1/terminal /v1/terminal?process_id=x /v1/terminal?command=true&cols=-1&rows=1e9 /v1/terminal?window=-1
  /v1/terminal?cwd=..%2f..&command=true /v1/terminal?command=%00 /mcp /sandbox/sync /metrics
  /s/team-a/demo/{PORT}/ /s/team-a/gone/{PORT}/ /s/team-a/demo/1/ /hookbox.runtime.v1.ProcessesService/List
`.trim().split(/\s+/);

/** A request that somebody tampered with. */
const tampered = fc.record({
  listener: fc.nat(100),
  at: fc.nat(100),
  changes: seldom(2, messageChanges),
  one: messageChanges,
  garbling: seldom(6, garbling),
  how: leaving,
});

test("10,000 requests for another protocol, tampered with: all listeners live, and nothing stays open", async () => {
  const statuses = await tryTampering({
    start: startAll,
    drawn: tampered,
    input({ listeners, backend, takeLines }, { at, changes, garbling: garbles, how, ...drawn }) {
      const { name, port, token, messages } = listeners[drawn.listener % listeners.length]!;
      const message = changedMessage(messages[at % messages.length]!, changes ?? drawn.one.slice(0, 1), TARGETS);
      // Nobody knows where a token comes to lie in what is garbled.
      const whole = textOf(filled(message, backend, garbles ? "token" : token));
      const send = async (text: string, how: Leaving) => {
        const answer = await speak(port, text, how);
        const told = `${takeLines()}${answer.replace(/^set-cookie:.*$/gim, "")}`;
        for (const secret of [CANARY, token]) expect(told.includes(secret), `a secret in ${told}`).toBe(false);
        return statusOf(answer);
      };
      return { to: name, text: garbles ? garbled(whole, garbles) : whole, how, send };
    },
    async after({ listeners }) {
      for (const { name, port, healthy } of listeners) {
        const answer = await speak(port, `GET ${healthy} HTTP/1.1\r\nHost: localhost\r\n\r\n`, "patient");
        expect([name, answer.slice(0, 12)]).toEqual([name, "HTTP/1.1 200"]);
      }
    },
  });
  expect(statuses["101"]).toBeGreaterThan(runs(200));
});
