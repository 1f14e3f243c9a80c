/** How much is on its way at once: what nobody takes is not read, whatever the size. Counts bytes, measures no time. @module */
import { closeSync, ftruncateSync, openSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pack } from "tar-stream";
import { expect, test } from "vitest";
import { createFiles } from "../../../packages/sdk/files/files.ts";
import { createRuntimeClient } from "../../../packages/sdk/runtime/runtimeclient.ts";
import { streamOf } from "../../../packages/sdk/runtime/streams.ts";
import type { SandboxTransport } from "../../../packages/sdk/transport/transport.ts";
import { makeTempFolder } from "../../tempfolder.ts";
import { localTransport, OBJECT } from "../localtransport.ts";

const MB = 1024 * 1024;
const SIZE = 50 * MB;
/** Most that may be on its way: a few buffers, not a share of the file. */
const MOST = 3 * MB;

function filesOver(fetch: SandboxTransport["fetch"]) {
  return createFiles(createRuntimeClient({ ...localTransport(0), fetch }, OBJECT, undefined));
}

/** Waits until a count stands still. */
async function settled(count: () => number): Promise<number> {
  for (let before = -1, still = 0; still < 20; still = count() === before ? still + 1 : 0) {
    before = count();
    await sleep(5);
  }
  return count();
}

/** Gives that many bytes, and counts what has been asked for. */
function counted(bytes: number) {
  const source = { given: 0 };
  const chunk = new Uint8Array(64 * 1024);
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (source.given >= bytes) return controller.close();
      source.given += chunk.length;
      return controller.enqueue(chunk.slice());
    },
  }, { highWaterMark: 0 });
  return { source, body };
}

const FILE = { headers: { "Content-Type": "application/octet-stream", "Content-Length": `${SIZE}` } };

test("a stream that is read slowly takes from the connection what is read; leaving it ends that", async () => {
  const { source, body } = counted(SIZE);
  const stream = await filesOver(() => Promise.resolve(new Response(body, FILE))).read("f", { format: "stream" });
  expect(await settled(() => source.given)).toBeLessThan(MOST);
  let read = 0;
  let most = 0;
  for await (const chunk of stream) {
    read += chunk.length;
    most = Math.max(most, source.given - read);
    if (read > 10 * MB) break;
  }
  expect(most).toBeLessThan(MOST);
  expect(await settled(() => source.given)).toBeLessThan(10 * MB + MOST);
});

test("a stream that is written is read no faster than it goes out", async () => {
  const { source, body } = counted(SIZE);
  const taken = { bytes: 0, most: 0 };
  const files = filesOver(async (_, __, request) => {
    for await (const chunk of request?.body as ReadableStream<Uint8Array>) {
      if (taken.bytes === 0) expect(await settled(() => source.given)).toBeLessThan(MOST);
      taken.bytes += chunk.length;
      taken.most = Math.max(taken.most, source.given - taken.bytes);
    }
    return new Response(null, { status: 204 });
  });
  await files.write("f", body);
  expect(taken.bytes).toBe(SIZE);
  expect(taken.most).toBeLessThan(MOST);
});

test("a folder that goes up is read no faster than it goes out", async () => {
  const folder = makeTempFolder();
  const descriptor = openSync(join(folder, "sparse"), "w");
  ftruncateSync(descriptor, SIZE);
  closeSync(descriptor);
  const sent = { bytes: 0 };
  const taken = { bytes: 0, most: 0 };
  const files = filesOver(async (_, __, request) => {
    for await (const chunk of request?.body as ReadableStream<Uint8Array>) {
      if (taken.bytes === 0) expect(await settled(() => sent.bytes)).toBeLessThan(MOST);
      taken.bytes += chunk.length;
      taken.most = Math.max(taken.most, sent.bytes - taken.bytes);
    }
    return Response.json({ files: 1, directories: 0, links: 0, bytes: SIZE });
  });
  await files.upload(folder, "d", { onProgress: ({ bytes }) => sent.bytes = bytes });
  expect(taken.bytes).toBeGreaterThan(SIZE);
  expect(taken.most).toBeLessThan(MOST);
});

test("a folder that comes down is taken no faster than it is written", async () => {
  const tar = pack();
  const source = { given: 0 };
  const entry = tar.entry({ name: "large", size: SIZE });
  const pump = async () => {
    for (; source.given < SIZE; source.given += MB) {
      if (!entry.write(new Uint8Array(MB))) await new Promise<void>((resolve) => entry.once("drain", resolve));
    }
    entry.end(null);
    tar.finalize();
  };
  const stat = { name: "d", path: "d", type: "directory", size: 0, mode: "0755", modified_at: "2026-01-01T00:00:00Z" };
  const body = streamOf((tar as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]() as AsyncGenerator<Uint8Array>);
  const files = filesOver((_, path) =>
    Promise.resolve(path.startsWith("/v1/stat/") ? Response.json(stat) : new Response(body))
  );
  const pumping = pump();
  let most = 0;
  const onProgress = ({ bytes }: { bytes: number }) => most = Math.max(most, source.given - bytes);
  const { bytes } = await files.download("d", join(makeTempFolder(), "to"), { onProgress });
  await pumping;
  expect(bytes).toBe(SIZE);
  expect(most).toBeLessThan(2 * MOST);
});
