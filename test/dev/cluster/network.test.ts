/** @module */
import { expect, test } from "vitest";
import { pickBridge } from "../../../dev/cluster/network.ts";

const HEADER = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n";
/** One line of /proc/net/route, whose numbers are little-endian. */
const route = (address: string, mask: string) => `eth0\t${address}\t00000000\t0001\t0\t0\t0\t${mask}\t0\t0\t0\n`;

test("pickBridge() derives the name and the subnet from the cluster's id", () => {
  expect(pickBridge("00000000", HEADER)).toEqual({
    name: "hb-00000000",
    subnet: "10.200.0.0/24",
    address: "10.200.0.1",
  });
  expect(pickBridge("00000101", HEADER).subnet).toBe("10.201.1.0/24");
  expect(pickBridge("ffffffff", HEADER).name.length).toBeLessThanOrEqual(15);
});

test("pickBridge() keeps off subnets that are routed already, but not off the default route", () => {
  const taken = HEADER + route("00000000", "00000000") + route("0000C80A", "00FFFFFF");
  expect(pickBridge("00000000", taken).subnet).toBe("10.200.1.0/24");
  const wide = HEADER + route("0000C80A", "0000FFFF");
  expect(pickBridge("00000000", wide).subnet).toBe("10.201.0.0/24");
});

test("pickBridge() says so if everything is taken", () => {
  expect(() => pickBridge("00000000", HEADER + route("0000000A", "000000FF"))).toThrow("Cannot find a subnet");
});
