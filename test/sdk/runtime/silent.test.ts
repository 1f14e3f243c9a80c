/** What is said where nothing answers at the runtime's port: images need not have a runtime. @module */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { createCode } from "../../../packages/sdk/code/code.ts";
import { ConnectionError } from "../../../packages/sdk/errors.ts";
import { createFiles } from "../../../packages/sdk/files/files.ts";
import { createRuntimeClient } from "../../../packages/sdk/runtime/runtimeclient.ts";
import { createPodTransport, type PodPlace } from "../../../packages/sdk/transport/direct.ts";

const OBJECT = { kind: "Sandbox", namespace: "team-a", name: "demo" };
const POD: PodPlace = { namespace: "team-a", name: "demo", ip: "10.0.0.1" };

/** A sandbox whose port is forwarded to a server that answers every request with an empty list, until it is closed. */
async function aSandbox(find = () => Promise.resolve(POD)) {
  const server = createServer((_, response) => response.setHeader("Content-Type", "application/json").end("[]"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const reach = () => Promise.resolve(new URL(`http://127.0.0.1:${port}`));
  const transport = createPodTransport({ kind: "forward", find, reach, close: async () => {} }, "team-a", "demo");
  const runtimeClient = createRuntimeClient(transport, OBJECT, undefined);
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { files: createFiles(runtimeClient), code: createCode(runtimeClient), close };
}

const SILENT =
  "no runtime answers in sandbox team-a/demo (port 8080). Its image needs hookbox's runtime, which has to " +
  "run: see docs/runtime.md.";

test("where none has ever answered", async () => {
  const { files, code, close } = await aSandbox();
  await close();
  const listed = await files.list("work").catch((error) => error);
  expect(listed).toBeInstanceOf(ConnectionError);
  expect(listed).toMatchObject({ message: `Cannot list "work": ${SILENT}`, mayHaveArrived: false, object: OBJECT });
  const ran = await code.runCode("1").catch((error) => error);
  expect(ran).toBeInstanceOf(ConnectionError);
  expect(ran.message).toBe(`Cannot call the runtime: ${SILENT}`);
});

test("where one has answered before, and where the Pod cannot be found", async () => {
  const { files, close } = await aSandbox();
  await files.list("work").catch(() => {});
  await close();
  await expect(files.list("work")).rejects.toThrow(/^Cannot reach port 8080 of sandbox team-a\/demo: /);
  const down = new ConnectionError("Cannot read Sandbox demo: the API server is away");
  const { files: lost, close: end } = await aSandbox(() => Promise.reject(down));
  await end();
  await expect(lost.list("work")).rejects.toBe(down);
});
