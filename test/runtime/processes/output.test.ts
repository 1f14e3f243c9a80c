/** readOutput(): what waits for a slow reader is bounded, in whatever pieces it comes. @module */
import { Buffer } from "node:buffer";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { readOutput } from "../../../packages/runtime/processes/output.ts";
import type { Running } from "../../../packages/runtime/processes/spawn.ts";
import { eventually } from "../../eventually.ts";

function aProcess() {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const { promise: ended, resolve } = Promise.withResolvers<{ exitCode: number; signal: undefined }>();
  const running: Running = {
    pid: 1,
    stdin: undefined,
    stdout,
    stderr,
    extra: [],
    passed: Promise.resolve(),
    ended,
    kill: () => {},
    release: () => {},
  };
  const end = () => {
    stdout.end();
    stderr.end();
    resolve({ exitCode: 0, signal: undefined });
  };
  return { running, stdout, stderr, end };
}

test.for([{ bytes: 1, pieces: 5000 }, { bytes: 50_000, pieces: 10 }])(
  "a process that writes $pieces pieces of $bytes bytes is held up, and loses nothing",
  async ({ bytes, pieces }) => {
    const { running, stdout, stderr, end } = aProcess();
    const output = readOutput(running);
    stderr.write("first");
    await output.next();
    for (let piece = 0; piece < pieces; piece++) stdout.write(Buffer.alloc(bytes, "x"));
    await eventually(() => [stdout.isPaused(), stderr.isPaused()]).toEqual([true, true]);
    end();
    let length = 0;
    for await (const { bytes } of output) length += bytes.length;
    expect(length).toBe(bytes * pieces);
  },
);
