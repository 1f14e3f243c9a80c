/** @module */
import { expect, test } from "vitest";
import { pickNetwork } from "../../../dev/cluster/network.ts";

const HEADER = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n";
/** One line of /proc/net/route, whose numbers are little-endian. */
const route = (address: string, mask: string) => `eth0\t${address}\t00000000\t0001\t0\t0\t0\t${mask}\t0\t0\t0\n`;

test("pickNetwork() derives the bridge's name and all addresses from the cluster's id", () => {
  expect(pickNetwork("00000000", HEADER)).toEqual({
    bridge: "hb-00000000",
    subnet: "10.200.0.0/24",
    machine: "10.200.0.1",
    node: "10.200.0.2",
    services: "10.228.0.0/24",
  });
  expect(pickNetwork("00000101", HEADER).subnet).toBe("10.201.1.0/24");
  expect(pickNetwork("ffffffff", HEADER).bridge.length).toBeLessThanOrEqual(15);
});

test("pickNetwork() keeps off subnets that are routed already, but not off the default route", () => {
  const taken = HEADER + route("00000000", "00000000") + route("0000C80A", "00FFFFFF");
  expect(pickNetwork("00000000", taken).subnet).toBe("10.200.1.0/24");
  const services = HEADER + route("0000E40A", "00FFFFFF");
  expect(pickNetwork("00000000", services).subnet).toBe("10.200.1.0/24");
  const wide = HEADER + route("0000C80A", "0000FFFF");
  expect(pickNetwork("00000000", wide).subnet).toBe("10.201.0.0/24");
});

test("pickNetwork() says so if everything is taken", () => {
  expect(() => pickNetwork("00000000", HEADER + route("0000000A", "000000FF"))).toThrow("Cannot find a subnet");
});
