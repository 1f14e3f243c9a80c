/** @module */
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { freePorts } from "../../../dev/cluster/ports.ts";

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
