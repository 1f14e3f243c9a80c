/** Recordings as they are written: whole, in order, a ring, and never in the way. @module */
import { mkdirSync, readdirSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createHookApp } from "../../packages/webhook/app.ts";
import type { Exchange } from "../../packages/webhook/exchange.ts";
import { openRecording, type RecordingOptions } from "../../packages/webhook/recording.ts";
import { readRecordings, type RecordedLine } from "../../packages/cli/replay/read.ts";
import { sandboxHook } from "../../hooks/sandbox/hook.ts";
import { aRequest, aSandbox, NOW } from "../sandboxes.ts";
import { makeTempFolder } from "../tempfolder.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const anExchange = (request: string): Exchange => ({
  at: NOW,
  hook: "h",
  endpoint: "sync",
  status: 200,
  request: bytes(request),
  answer: bytes("{}"),
});

async function aRecording(more: Partial<RecordingOptions> = {}) {
  const folder = join(makeTempFolder(), "made");
  const [lines, lost]: [unknown[], Record<string, number>] = [[], {}];
  const recording = await openRecording({
    folder,
    maxBytes: 1e6,
    settings: { a: 1 },
    log: (level, message) => void lines.push([level, message]),
    unrecorded: { inc: ({ cause }, count) => void (lost[cause] = (lost[cause] ?? 0) + count) },
    ...more,
  });
  return { folder, recording, lines, lost };
}

async function linesIn(folder: string): Promise<RecordedLine[]> {
  const lines: RecordedLine[] = [];
  for await (const line of readRecordings([folder])) lines.push(line);
  return lines;
}

const requestsOf = (lines: RecordedLine[]) =>
  lines.flatMap((line) => "exchange" in line ? [line.exchange.request] : []);

test("what the app is asked and answers is recorded, errors too, but what is no JSON", async () => {
  const { folder, recording } = await aRecording();
  const app = createHookApp(sandboxHook({ clusterDomain: "cluster.local" }), {
    now: () => NOW,
    log: () => {},
    record: recording.record,
  });
  const good = { controller: {}, ...aRequest(aSandbox()) };
  const answers: Response[] = [];
  for (const body of [JSON.stringify(good), JSON.stringify({ ...good, children: {} }), "{}", "no JSON"]) {
    answers.push(await app.request("/sync", { method: "POST", body }));
  }
  await recording.close();
  const [header, ...exchanges] = await linesIn(folder);
  expect(header).toMatchObject({ header: { recording: 1, settings: { a: 1 } } });
  expect(answers.map(({ status }) => status)).toEqual([200, 500, 400, 400]);
  const bodies = await Promise.all(answers.slice(0, 3).map((answer) => answer.json()));
  expect(exchanges).toEqual(bodies.map((answer, index) => ({
    exchange: {
      at: NOW.toISOString(),
      hook: "sandbox",
      endpoint: "sync",
      status: answers[index]?.status,
      request: [good, { ...good, children: {} }, {}][index],
      answer,
    },
    place: expect.stringMatching(new RegExp(`\\.jsonl\\.zst:${index + 2}$`)),
  })));
});

test("line breaks between tokens become spaces; those in strings are escaped already", async () => {
  const { folder, recording } = await aRecording();
  recording.record(anExchange('{\n  "a": "x\\ny"\r\n}'));
  await recording.close();
  expect(requestsOf(await linesIn(folder))).toEqual([{ a: "x\ny" }]);
});

test("only the owner may read it", async () => {
  const { folder, recording } = await aRecording();
  recording.record(anExchange("1"));
  await recording.close();
  const modes = [folder, ...readdirSync(folder).map((name) => join(folder, name))].map((path) => statSync(path).mode);
  expect(modes.map((mode) => mode & 0o777)).toEqual([0o700, 0o600]);
});

test("the oldest files go when the folder is full, and the rest is whole", async () => {
  const { folder, recording, lost } = await aRecording({ maxBytes: 400_000, flushMs: 1 });
  for (let number = 0; number < 600; number++) {
    recording.record(
      anExchange(JSON.stringify({ number, noise: crypto.getRandomValues(new Uint8Array(1500)).join("") })),
    );
    if (number % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await recording.close();
  const size = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  expect(size).toBeLessThanOrEqual(440_000);
  const lines = await linesIn(folder);
  const numbers = requestsOf(lines).map((request) => (request as { number: number }).number);
  expect(numbers[0]).toBeGreaterThan(0);
  expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index));
  expect([numbers.at(-1), lost]).toEqual([599, {}]);
});

test("what a killed process has written can be read up to the cut", async () => {
  const { folder, recording } = await aRecording();
  for (let number = 0; number < 3000; number++) {
    recording.record(anExchange(`{"number":${number},"x":"${crypto.randomUUID()}"}`));
  }
  await recording.close();
  const [name = ""] = readdirSync(folder);
  const path = join(folder, name);
  truncateSync(path, Math.floor(statSync(path).size / 2));
  const requests = requestsOf(await linesIn(folder));
  expect(requests.length).toBeGreaterThan(100);
  expect(requests.length).toBeLessThan(3000);
  expect(requests.map((request) => (request as { number: number }).number)).toEqual(requests.map((_, index) => index));
});

test("what the disk cannot keep up with is lost, and counted", async () => {
  const { folder, recording, lost, lines } = await aRecording({ maxBacklogBytes: 20 });
  for (const request of ["1", "2", '"far too long for the backlog"', "3"]) recording.record(anExchange(request));
  await recording.close();
  recording.record(anExchange("4"));
  await recording.close();
  const found = await linesIn(folder);
  expect(requestsOf(found)).toEqual([1, 2, 3, 4]);
  expect([lost, lines]).toEqual([{ backlog: 1 }, [["warn", "Recording falls behind"]]]);
});

test("a failed write is a line and a count, and what comes next goes into another file", async () => {
  const { folder, recording, lost, lines } = await aRecording();
  recording.record(anExchange("1"));
  await recording.close();
  // Nobody can write to what is a folder.
  const blocked = readdirSync(folder)[0] ?? "";
  const next = blocked.replace("000001", "000002");
  mkdirSync(join(folder, next));
  recording.record(anExchange("2"));
  await recording.close();
  expect([lost, lines]).toEqual([{ write: 1 }, [["error", "Cannot write to the recording"]]]);
  recording.record(anExchange("3"));
  await recording.close();
  const readable = readdirSync(folder).filter((name) => name !== next).map((name) => join(folder, name));
  const found: RecordedLine[] = [];
  for await (const line of readRecordings(readable)) found.push(line);
  expect(requestsOf(found)).toEqual([1, 3]);
});

test("files of other kinds in the folder stay", async () => {
  const { folder, recording } = await aRecording({ maxBytes: 1 });
  writeFileSync(join(folder, "notes.txt"), "mine");
  for (const request of ["1", "2"]) {
    recording.record(anExchange(request));
    await recording.close();
  }
  expect(readdirSync(folder).filter((name) => !name.startsWith("hooks-"))).toEqual(["notes.txt"]);
  expect(requestsOf(await linesIn(folder))).toEqual([2]);
});
