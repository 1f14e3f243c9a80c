/** Connections that break: what is sent again, what goes on where it was, and what is reported. @module */
import "../../eventually.ts";
import { aSandbox, localTransport, OBJECT } from "../localtransport.ts";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ConflictError, ConnectionError } from "../../../packages/sdk/errors.ts";
import { createFiles } from "../../../packages/sdk/files/files.ts";
import { createRuntimeClient } from "../../../packages/sdk/runtime/runtimeclient.ts";
import { hurry } from "../../hurry.ts";
import { aProxy } from "../proxy.ts";

async function through(files: Record<string, string> = {}) {
  const { port, at } = await aSandbox(files);
  const proxy = await aProxy(port);
  const filesAt = (port: number) => createFiles(createRuntimeClient(localTransport(port), OBJECT, undefined));
  return { at, proxy, direct: filesAt(port), ...filesAt(proxy.port) };
}

const MB = 1024 * 1024;

test.for(["bytes", "stream"] as const)(
  "read() as %s goes on at the byte where the connection broke",
  async (format) => {
    const { at, proxy, read } = await through();
    const bytes = randomBytes(4 * MB);
    writeFileSync(at("f"), bytes);
    proxy.breakAfter(100, MB, 1, 2 * MB);
    const got = await read("f", { format: format as "bytes", offset: 5, length: 4 * MB - 10 });
    expect(bytes.subarray(5, -5).equals(new Uint8Array(await new Response(got).arrayBuffer()))).toBe(true);
    expect(proxy.connections()).toBe(5);
  },
);

test("read() does not put two files together: if it has changed in between it says so", async () => {
  const { at, proxy, read } = await through();
  writeFileSync(at("f"), randomBytes(4 * MB));
  const stream = await read("f", { format: "stream" });
  const reader = stream.getReader();
  await reader.read();
  writeFileSync(at("f"), randomBytes(4 * MB));
  proxy.breakOff();
  const rest = async () => {
    while (!(await reader.read()).done);
  };
  await expect(rest()).rejects.toThrow(ConflictError);
});

test("read() gives up where nobody answers any more", async () => {
  const { at, proxy, read } = await through();
  writeFileSync(at("f"), randomBytes(4 * MB));
  const stream = await read("f", { format: "stream" });
  hurry(20);
  proxy.refuse(true);
  const error = await new Response(stream).text().catch((error) => error);
  expect(error).toBeInstanceOf(ConnectionError);
  expect(error).toMatchObject({ code: "UNAVAILABLE", object: OBJECT });
});

test("what may be sent again is, where an answer was lost", async () => {
  const { proxy, read, write, list, stat, exists, makeDir, disk } = await through({ "d/f": "1" });
  const calls = [
    () => read("d/f"),
    () => write("d/g", "2"),
    () => list("d"),
    () => stat("d/f"),
    () => exists("d/f"),
    () => disk(),
    () => makeDir("d/new"),
  ];
  hurry(20);
  for (const call of calls) {
    proxy.breakAfter(1);
    await call();
  }
  expect(await read("d/g")).toBe("2");
  proxy.breakAfter(1);
  expect(await makeDir("d/newer")).toBe(false);
});

test("what must not be sent twice is not", async () => {
  const { at, proxy, direct, write, rename, remove } = await through({ "a": "1", "b": "2" });
  const lost = { mayHaveArrived: true, code: "UNAVAILABLE" };
  proxy.breakAfter(1);
  await expect(rename("a", "c")).rejects.toMatchObject(lost);
  proxy.breakAfter(1);
  await expect(remove("b")).rejects.toMatchObject(lost);
  proxy.breakAfter(1);
  await expect(write("s", new Blob(["3"]).stream())).rejects.toMatchObject(lost);
  expect((await direct.list("")).map(({ name }) => name)).toEqual(["c", "s"]);
  expect(readFileSync(at("s"), "utf8")).toBe("3");
});

test("write() of a stream that fails says what the stream failed of, and leaves nothing", async () => {
  const { direct } = await through();
  const stream = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.error(new RangeError("mine")),
  });
  await expect(direct.write("f", stream)).rejects.toThrow(new RangeError("mine"));
  expect(await direct.list("")).toEqual([]);
});
