/**
 * Creates the network of a real node. The node has its own network namespace, so the cluster's forwarding, routes and
 * firewall rules do not affect the machine, and disappear with the node. The node is connected to a bridge on the
 * machine by a virtual cable.
 * @module
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

export interface Network {
  /** Name of the bridge on the machine. */
  bridge: string;
  /** Network of machine, node and Pods, for example `10.200.7.0/24`. */
  subnet: string;
  /** Address of the machine, the first of the network. The API server listens at it. */
  machine: string;
  /** Address of the node, the second of the network. Pods get the others. */
  node: string;
  /** Network of Services, for example `10.228.7.0/24`. */
  services: string;
}

/** Networks of Pods are between 10.200 and 10.227. Networks of Services are 28 higher. */
const FIRST = 200;
const COUNT = 28;

/**
 * Chooses the name of a cluster's bridge, and two /24 networks between 10.200.0.0 and 10.255.255.255 to which there is
 * no route yet.
 */
export function pickNetwork(id: string, routes: string = readFileSync("/proc/net/route", "utf8")): Network {
  const start = Number.parseInt(id, 16);
  const count = COUNT * 256;
  for (let step = 0; step < count; step++) {
    const index = (start + step) % count;
    const [high, low] = [FIRST + Math.floor(index / 256), index % 256];
    const [pods, services] = [`10.${high}.${low}`, `10.${high + COUNT}.${low}`];
    if (hasRoute(routes, pods) || hasRoute(routes, services)) continue;
    return {
      bridge: `hb-${id}`,
      subnet: `${pods}.0/24`,
      machine: `${pods}.1`,
      node: `${pods}.2`,
      services: `${services}.0/24`,
    };
  }
  throw new RangeError("Cannot find a subnet for Pods: there are routes to all of 10.200.0.0-10.255.255.255");
}

/**
 * Tells whether a routing table (in the format of /proc/net/route) has a route to a /24 network, apart from the default
 * route.
 */
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

/** Creates the bridge on the machine, with its address and the route to Services. @param ip iproute2's command */
export function makeBridge(ip: string, { bridge, machine, node, services }: Network): void {
  run(bridge, [
    [ip, "link", "add", "name", bridge, "type", "bridge"],
    [ip, "addr", "add", `${machine}/24`, "dev", bridge],
    [ip, "link", "set", bridge, "up"],
    [ip, "route", "add", services, "via", node, "dev", bridge],
  ]);
}

/**
 * Connects a network namespace to the bridge, as the node in front of the Pods. @param pid process ID of a process in
 * the namespace
 */
export function plugNode(ip: string, { bridge, machine, node }: Network, pid: number): void {
  const cable = bridge.replace("hb-", "hn-");
  const inside = ["nsenter", "--net", "--target", String(pid)];
  const set = (name: string, value: string) => [...inside, "sh", "-c", `echo ${value} >/proc/sys/net/ipv4/${name}`];
  run(bridge, [
    [ip, "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", String(pid)],
    [ip, "link", "set", cable, "master", bridge, "up"],
    [...inside, ip, "link", "set", "lo", "up"],
    [...inside, ip, "addr", "add", `${node}/24`, "dev", "eth0"],
    [...inside, ip, "link", "set", "eth0", "up"],
    [...inside, ip, "route", "add", "default", "via", machine],
    set("ip_forward", "1"),
    // The node answers ARP requests for its Pods without delay, so the machine needs no route to each Pod.
    set("conf/eth0/proxy_arp", "1"),
    set("neigh/eth0/proxy_delay", "0"),
  ]);
}

function run(bridge: string, commands: string[][]): void {
  for (const [command = "", ...args] of commands) {
    const { status, stderr, error } = spawnSync(command, args, { encoding: "utf8" });
    if (status === 0) continue;
    const reason = error?.message ?? stderr.trim();
    throw new Error(`Cannot make the network ${bridge}: ${[command, ...args].join(" ")}: ${reason}`);
  }
}

/** Removes a bridge and everything that is still connected to it. If the bridge does not exist, does nothing. */
export async function removeBridge(ip: string, name: string): Promise<void> {
  const folder = `/sys/class/net/${name}`;
  for (let waited = 0; waited < 5000 && existsSync(folder); waited += 50) {
    const ports = existsSync(`${folder}/brif`) ? readdirSync(`${folder}/brif`) : [];
    // The kernel may remove a device first: it removes the cables of ended nodes itself.
    for (const device of [...ports, name]) spawnSync(ip, ["link", "del", "dev", device]);
    if (existsSync(folder)) await sleep(50);
  }
  if (existsSync(folder)) {
    throw new Error(`Cannot remove the network bridge ${name}: it is still there after five seconds`);
  }
}
