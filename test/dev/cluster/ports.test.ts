/** @module */
import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "vitest";
import { freePorts } from "../../../dev/cluster/ports.ts";

/** Listens on a port that the machine picks. */
async function listen(host: string): Promise<{ port: number; close: () => Promise<unknown> }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const close = () => new Promise((resolve) => server.close(resolve));
  return { port: (server.address() as AddressInfo).port, close };
}

test.for(["127.0.0.1", "127.0.0.2"])(
  "freePorts() gives neither a port that is in use nor one it has given: %s",
  async (host) => {
    const { port, close } = await listen(host);
    await expect(freePorts(1, [port, port])).rejects.toThrow(`${port}-${port} are in use`);
    await close();
    expect(await freePorts(1, [port, port])).toEqual([port]);
    await expect(freePorts(1, [port, port])).rejects.toThrow(RangeError);
  },
);

test("freePorts() gives different ports, below those of outgoing connections, that can be listened on", async () => {
  const ports = [...await freePorts(5), ...await freePorts(5)];
  expect(new Set(ports).size).toBe(10);
  for (const port of ports) {
    expect(port).toBeGreaterThanOrEqual(20_000);
    expect(port).toBeLessThan(32_768);
    const server = createServer();
    await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
    await new Promise((resolve) => server.close(resolve));
  }
});
