/** createLog(): what is kept is read again from any offset, and what is lost is reported. @module */
import { expect, test, vi } from "vitest";
import {
  createBackpressure,
  createOutputLog,
  type LogRead,
  type OutputLog,
} from "../../../packages/runtime/processes/outputlog.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const show = (read: LogRead) =>
  "piece" in read
    ? `${read.piece.offset} ${read.piece.stream} ${new TextDecoder().decode(read.piece.bytes)}`
    : `lost before ${read.beforeOffset}`;

async function all(log: OutputLog, offset: number, follow = false): Promise<string[]> {
  const shown: string[] = [];
  for await (const read of log.read(offset, { follow })) shown.push(show(read));
  return shown;
}

function aLog(): OutputLog {
  const log = createOutputLog(10_000);
  log.append("stdout", bytes("one"));
  log.append("stderr", bytes("two"));
  log.append("stdout", bytes("three"));
  return log;
}

test("read() gives both streams in order under one count of bytes", async () => {
  expect(await all(aLog(), 0)).toEqual(["0 stdout one", "3 stderr two", "6 stdout three"]);
  expect(aLog().size()).toBe(11);
});

test.for([
  { offset: 1, want: ["1 stdout ne", "3 stderr two", "6 stdout three"] },
  { offset: 3, want: ["3 stderr two", "6 stdout three"] },
  { offset: 10, want: ["10 stdout e"] },
  { offset: 11, want: [] },
])("read() from offset $offset", async ({ offset, want }) => {
  expect(await all(aLog(), offset)).toEqual(want);
});

test("read() follows until the log has ended", async () => {
  const log = aLog();
  const following = all(log, 6, true);
  await Promise.resolve();
  log.append("stdout", bytes("!"));
  log.end();
  expect((await following).join()).toMatch(/three.*!/);
});

test("read() stops when its signal aborts, also one from before", async () => {
  const stop = new AbortController();
  const reading = aLog().read(11, { follow: true, signal: stop.signal }).next();
  stop.abort();
  expect(await reading).toEqual({ done: true, value: undefined });
  expect(await aLog().read(0, { follow: true, signal: AbortSignal.abort() }).next()).toMatchObject({ done: true });
});

test("read() stops when its signal aborts while it says that all is lost", async () => {
  const log = createOutputLog(1000);
  log.append("stdout", new Uint8Array(2000));
  const stop = new AbortController();
  const reader = log.read(0, { follow: true, signal: stop.signal });
  expect((await reader.next()).value).toEqual({ beforeOffset: 2000 });
  stop.abort();
  expect(await reader.next()).toEqual({ done: true, value: undefined });
});

test("the oldest is dropped, and a reader learns what it lost", async () => {
  const log = createOutputLog(100_000);
  for (let line = 0; line < 100; line++) log.append("stdout", bytes("x".repeat(9_999) + "\n"));
  const [first, ...rest] = await all(log, 0);
  const lost = Number(/^lost before (\d+)$/.exec(first ?? "")?.[1]);
  expect(lost).toBeGreaterThanOrEqual(900_000);
  expect(rest[0]).toMatch(new RegExp(`^${lost} stdout x`));
  expect(lost + rest.join("").replaceAll(/\d+ stdout /g, "").length).toBe(1_000_000);
});

test("a reader that falls behind goes on with the oldest that is left", async () => {
  const log = createOutputLog(20_000);
  log.append("stdout", bytes("a".repeat(5_000)));
  const reader = log.read(0, { follow: false });
  await reader.next();
  for (let part = 0; part < 10; part++) log.append("stderr", bytes("b".repeat(5_000)));
  const { value } = await reader.next();
  expect(value && show(value)).toMatch(/^lost before \d{5}$/);
});

test("a log of tiny pieces stays within its limit", async () => {
  const log = createOutputLog(10_000);
  for (let at = 0; at < 10_000; at++) log.append(at % 2 ? "stdout" : "stderr", bytes("."));
  expect((await all(log, 0)).length).toBeLessThan(100);
  expect(log.size()).toBe(10_000);
});

test("a piece is never longer than 64 KiB", async () => {
  const log = createOutputLog(1 << 20);
  log.append("stdout", new Uint8Array(200_000));
  const lengths: number[] = [];
  for await (const read of log.read(0, { follow: false })) {
    if ("piece" in read) lengths.push(read.piece.bytes.length);
  }
  expect(lengths).toEqual([65_536, 65_536, 65_536, 3_392]);
});

test.for([1000, 100_000, 4 << 20])(
  "a log of %d bytes that stops its writer loses nothing of what still comes",
  async (keep) => {
    const stopped = (before: number) => {
      let isStopped = false;
      const log = createOutputLog(keep, { pause: () => isStopped = true, resume: () => {} });
      for (let pieces = 0; pieces < before && !isStopped; pieces++) log.append("stdout", new Uint8Array(4096));
      return { log, pieces: log.size() / 4096, isStopped };
    };
    const most = stopped(Infinity).pieces - 1;
    const { log, isStopped } = stopped(most);
    expect(isStopped).toBe(false);
    // As much as a pipe gives at once, of either stream.
    log.append("stdout", new Uint8Array(65_536));
    log.append("stderr", new Uint8Array(65_536));
    const { value } = await log.read(0, { follow: false }).next();
    expect(value).toMatchObject({ piece: { offset: 0 } });
  },
);

function aHold() {
  const flow: string[] = [];
  const hold = createBackpressure({ pause: () => flow.push("pause"), resume: () => flow.push("resume") }, 100, 1000);
  return { flow, hold };
}

test("the writer stops when it is too far ahead, and goes on when somebody has read", () => {
  const { flow, hold } = aHold();
  hold.onWritten(99);
  expect(flow).toEqual([]);
  hold.onWritten(150);
  hold.onDelivered(50);
  expect(flow).toEqual(["pause"]);
  hold.onDelivered(51);
  expect(flow).toEqual(["pause", "resume"]);
  hold.onDelivered(10);
  expect(flow, "who reads again from the beginning holds nobody up").toEqual(["pause", "resume"]);
});

test("a writer that nobody reads goes on after a while, and waits again for a reader who comes", () => {
  vi.useFakeTimers();
  try {
    const { flow, hold } = aHold();
    const left = hold.onReaderStarted();
    hold.onWritten(500);
    vi.advanceTimersByTime(60_000);
    expect(flow, "a slow reader is waited for as long as it is there").toEqual(["pause"]);
    left();
    vi.advanceTimersByTime(999);
    expect(flow).toEqual(["pause"]);
    vi.advanceTimersByTime(1);
    expect(flow).toEqual(["pause", "resume"]);
    hold.onReaderStarted();
    expect(flow).toEqual(["pause", "resume", "pause"]);
  } finally {
    vi.useRealTimers();
  }
});
