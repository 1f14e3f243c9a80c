/** Finds free TCP ports of this machine for the cluster's processes. @module */
import { createServer } from "node:net";

// The range is below the one from which Linux chooses ports for outgoing connections. Otherwise, such a connection
// could take a chosen port.
const RANGE: [number, number] = [20_000, 32_767];

const given = new Set<number>();

/**
 * Chooses ports that are free on all addresses, and that this process has not chosen before.
 *
 * @throws {RangeError} if a thousand attempts for each port find none
 */
export async function freePorts(count: number, [first, last] = RANGE): Promise<number[]> {
  const ports: number[] = [];
  for (let tries = 0; tries < count * 1000 && ports.length < count; tries++) {
    const port = first + Math.floor(Math.random() * (last - first + 1));
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    ports.push(port);
  }
  if (ports.length < count) {
    throw new RangeError(`Cannot find ${count} free ports: ${first}-${last} are in use`);
  }
  return ports;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    // Some processes listen on all addresses, and the API server of a real node on that of the node.
    server.listen({ port, host: "0.0.0.0", exclusive: true }, () => server.close(() => resolve(true)));
  });
}
