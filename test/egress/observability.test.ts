/** What an operator sees of the egress policy: metrics without names of sandboxes' choice, and bounded log lines. @module */
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import type { Answer } from "../../packages/egress/answer.ts";
import type { EnforcementState } from "../../packages/egress/enforcement.ts";
import { createEgressMetrics } from "../../packages/egress/metrics.ts";
import { createRefusalLog } from "../../packages/egress/refusallog.ts";
import { serveProxy } from "../../packages/egress/socket.ts";
import { createRegistry } from "../../packages/process/observability.ts";
import { createFakeClock } from "../../packages/testing/clock.ts";
import { until, untilThere } from "../eventually.ts";
import { makeTempFolder } from "../tempfolder.ts";

const MINUTE_MS = 60_000;
const ID = { name: "box", uid: "sandbox-1", claim: { name: "session", uid: "claim-1" } };
const REFUSED = { status: 403, reason: "evil.example:443 is not allowed", cause: "not_allowed", sandbox: ID } as const;
const GRANTED: Answer = {
  ...{ allowed: true, sandbox: ID, host: "pypi.org", address: "1.2.3.4", port: 443, inspect: false, raw: false },
  headers: [],
};

function aLog() {
  const clock = createFakeClock(0);
  const stop = new AbortController();
  const lines: Record<string, unknown>[] = [];
  const log = createRefusalLog((_, message, fields) => lines.push({ message, ...fields }), clock, stop.signal);
  return { log, clock, stop, lines };
}

test("a refusal is one line with sandbox, claim, host and reason", () => {
  const { log, lines } = aLog();
  log({ client: "10.0.0.7", host: "evil.example", port: 443 }, REFUSED);
  expect(lines).toEqual([{
    message: "Refused",
    ...{ client: "10.0.0.7", sandbox: "box", claim: "session", host: "evil.example", port: 443, status: 403 },
    ...{ cause: "not_allowed", reason: "evil.example:443 is not allowed" },
  }]);
});

test("one sandbox has twenty lines a minute and a count of the rest, and hides nothing of another", async () => {
  const { log, clock, lines } = aLog();
  for (let n = 0; n < 500; n++) log({ client: "10.0.0.7", host: `${n}.example`, port: 443 }, REFUSED);
  expect(lines).toHaveLength(20);
  log({ client: "10.0.0.8", host: "other.example", port: 443 }, { ...REFUSED, sandbox: undefined });
  expect(lines.at(-1)).toMatchObject({ client: "10.0.0.8", host: "other.example" });
  await clock.advance(MINUTE_MS);
  expect(lines.slice(21)).toEqual([{
    message: "Refused more requests",
    client: "10.0.0.7",
    sandbox: "box",
    count: 480,
  }]);
  log({ client: "10.0.0.7", host: "again.example", port: 443 }, REFUSED);
  expect(lines.at(-1)).toMatchObject({ message: "Refused", host: "again.example" });
});

test("a host without an end is cut off, and a log that ends waits for nothing", async () => {
  const { log, clock, stop, lines } = aLog();
  log({ client: "10.0.0.7", host: "a".repeat(4000), port: 443 }, { ...REFUSED, reason: "b".repeat(4000) });
  expect(JSON.stringify(lines).length).toBeLessThan(1000);
  stop.abort();
  expect(await clock.step()).toBe(false);
});

test("metrics count by reason, and no name of a host, a sandbox or a Secret is a label", async () => {
  let state: EnforcementState = "unknown";
  const metrics = createEgressMetrics(createRegistry(false), () => state, () => 0);
  metrics.answered(GRANTED, 0.01);
  metrics.answered({ allowed: false, ...REFUSED }, 0.01);
  metrics.answered({ allowed: false, ...REFUSED, cause: "secret", reason: "Secret example does not exist" }, 0.01);
  metrics.requested("GET", 200);
  state = "not_enforced";
  const served = await metrics.text();
  expect(served).toMatch("hookbox_egress_allowed_total 1\n");
  expect(served).toMatch('hookbox_egress_refused_total{reason="not_allowed"} 1\n');
  expect(served).toMatch('hookbox_egress_refused_total{reason="secret"} 1\n');
  expect(served).toMatch('hookbox_egress_refused_total{reason="dns"} 0\n');
  expect(served).toMatch('hookbox_egress_network_policies{state="not_enforced"} 1\n');
  expect(served).toMatch('hookbox_egress_network_policies{state="unknown"} 0\n');
  expect(served).toMatch('hookbox_egress_requests_total{method="GET",code="200"} 1\n');
  expect(served).toMatch("hookbox_egress_decision_seconds_count 3\n");
  const labels = new Set([...served.matchAll(/[{,](\w+)="/g)].map(([, label]) => label));
  expect([...labels].sort()).toEqual(["code", "le", "method", "reason", "state"]);
  expect(served).not.toMatch(/evil|pypi|session|example/);
});

test("open connections have no value when the proxy has long not reported them", async () => {
  let now = 0;
  const metrics = createEgressMetrics(createRegistry(false), () => "unknown", () => now);
  const line = /^hookbox_egress_open_connections (\d+)$/m;
  expect(await metrics.text()).not.toMatch(line);
  metrics.connected(7);
  expect(line.exec(await metrics.text())?.[1]).toBe("7");
  now += 30_000;
  expect(await metrics.text()).not.toMatch(line);
});

test("the socket takes reports, answers questions, and refuses what is neither", async () => {
  const path = join(makeTempFolder(), "egress.sock");
  const stop = new AbortController();
  const { lines, log: logRefusal } = aLog();
  const metrics = createEgressMetrics(createRegistry(false), () => "unknown", () => 0);
  const service = serveProxy(path, {
    ...{ logRefusal, metrics, signal: stop.signal, log: () => {} },
    answer: ({ host }) => Promise.resolve(host === "pypi.org" ? GRANTED : { allowed: false, ...REFUSED }),
  });
  onTestFinished(async () => {
    stop.abort();
    await service.done;
    expect(service.isListening()).toBe(false);
  });
  await until(() => service.isListening());
  const send = (message: object) => text(connect(path).on("error", () => {}).end(`${JSON.stringify(message)}\n`));
  const question = { client: "10.0.0.7", host: "pypi.org", port: 443 };
  expect(JSON.parse(await send(question))).toEqual(GRANTED);
  expect(JSON.parse(await send({ ...question, host: "evil.example" }))).toMatchObject({ allowed: false });
  expect(JSON.parse(await send({ nothing: "of that" }))).toMatchObject({ allowed: false, cause: "error" });
  const refused = { ...question, sandbox: ID, status: 403, reason: "TLS is for other.example" };
  expect(await send({ connections: 3, refused })).toBe("");
  expect(await send({ connections: -1 })).toMatch('"allowed":false');
  await untilThere(2, () => lines);
  expect(lines).toMatchObject([
    { cause: "not_allowed", host: "evil.example", sandbox: "box" },
    { cause: "proxy", host: "pypi.org", sandbox: "box", reason: "TLS is for other.example" },
  ]);
  const served = await metrics.text();
  expect(served).toMatch('hookbox_egress_refused_total{reason="proxy"} 1\n');
  expect(served).toMatch('hookbox_egress_refused_total{reason="error"} 2\n');
  expect(served).toMatch("hookbox_egress_open_connections 3\n");
});
