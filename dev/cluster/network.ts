/** The bridge on which the real node and its Pods meet the machine. @module */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

export interface Bridge {
  name: string;
  /** For example `10.200.7.0/24`. */
  subnet: string;
  /** The bridge's own address, which is the node's. */
  address: string;
}

/** Names a bridge for a cluster and picks a /24 between 10.200.0.0 and 10.255.255.255 to which there is no route yet. */
export function pickBridge(id: string, routes: string = readFileSync("/proc/net/route", "utf8")): Bridge {
  const start = Number.parseInt(id, 16);
  const count = 56 * 256;
  for (let step = 0; step < count; step++) {
    const index = (start + step) % count;
    const prefix = `10.${200 + Math.floor(index / 256)}.${index % 256}`;
    if (!hasRoute(routes, prefix)) return { name: `hb-${id}`, subnet: `${prefix}.0/24`, address: `${prefix}.1` };
  }
  throw new RangeError("Cannot find a subnet for Pods: there are routes to all of 10.200.0.0-10.255.255.255");
}

/** Tells whether a table in the form of /proc/net/route has a way, the default one aside, to a /24. */
function hasRoute(routes: string, prefix: string): boolean {
  const [a = 0, b = 0, c = 0] = prefix.split(".").map(Number);
  // The table writes addresses as little-endian numbers.
  const network = a | (b << 8) | (c << 16);
  return routes.trim().split("\n").slice(1).some((line) => {
    const columns = line.split(/\s+/);
    const destination = Number.parseInt(columns[1] ?? "", 16);
    const mask = Number.parseInt(columns[7] ?? "", 16) & 0xffffff;
    return mask !== 0 && (network & mask) === (destination & mask);
  });
}

export function makeBridge(busybox: string, bridge: Bridge): void {
  const ip = (...args: string[]) => {
    const { status, stderr } = spawnSync(busybox, ["ip", ...args], { encoding: "utf8" });
    if (status !== 0) throw new Error(`Cannot make the network bridge ${bridge.name}: ${stderr.trim()}`);
  };
  ip("link", "add", "name", bridge.name, "type", "bridge");
  ip("addr", "add", `${bridge.address}/24`, "dev", bridge.name);
  ip("link", "set", bridge.name, "up");
}

/** Removes a bridge and what is still plugged into it; does nothing if it is gone. */
export async function removeBridge(busybox: string, name: string): Promise<void> {
  const folder = `/sys/class/net/${name}`;
  for (let waited = 0; waited < 5000 && existsSync(folder); waited += 50) {
    const ports = existsSync(`${folder}/brif`) ? readdirSync(`${folder}/brif`) : [];
    // The kernel may be faster, as it removes the ends of ended Pods itself.
    for (const device of ports) spawnSync(busybox, ["ip", "link", "del", "dev", device]);
    if (ports.length === 0) spawnSync(busybox, ["ip", "link", "del", "dev", name]);
    if (existsSync(folder)) await sleep(50);
  }
  if (existsSync(folder)) {
    throw new Error(`Cannot remove the network bridge ${name}: it is still there after five seconds`);
  }
}
