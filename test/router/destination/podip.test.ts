import { describe, expect, test } from "vitest";
import { canonicalIP, isPodAddress } from "../../../packages/router/index/addresses.ts";

const isPossible = (text: string, allowLoopbackPodIp = false) => {
  const ip = canonicalIP(text);
  return ip !== undefined && isPodAddress(ip, allowLoopbackPodIp);
};

describe("isPodAddress()", () => {
  test.for(["10.1.0.7", "192.168.3.4", "172.16.0.1", "100.64.0.1", "fd00:10:244::7", "2600:1f14::a:b", "FD00:0:0::1"])(
    "takes %s",
    (text) => expect(isPossible(text)).toBe(true),
  );

  test.for([
    ["unspecified", "0.0.0.0"],
    ["this network", "0.1.2.3"],
    ["unspecified", "::"],
    ["link-local, where clouds keep their credentials", "169.254.169.254"],
    ["link-local", "fe80::1"],
    ["link-local", "febf::1"],
    ["site-local", "fec0::1"],
    ["multicast", "224.0.0.1"],
    ["multicast", "239.255.255.250"],
    ["multicast", "ff02::1"],
    ["broadcast", "255.255.255.255"],
    ["reserved", "240.0.0.1"],
    ["NAT64", "64:ff9b::7f00:1"],
    ["NAT64", "64:ff9b:1::7f00:1"],
    ["6to4", "2002:7f00:1::"],
    ["Teredo", "2001:0:7f00:1::"],
    ["zone", "fd00::1%eth0"],
    ["octal", "0177.0.0.1"],
    ["number", "2130706433"],
    ["short", "127.1"],
    ["brackets", "[fd00::1]"],
    ["port", "10.1.0.7:80"],
    ["name", "localhost"],
    ["two", "10.1.0.7, 10.1.0.8"],
  ])("refuses %s: %s, with loopback allowed as well", ([, text = ""]) => {
    expect(isPossible(text)).toBe(false);
    expect(isPossible(text, true)).toBe(false);
  });

  test.for(["127.0.0.1", "127.255.255.254", "::1", "0:0:0:0:0:0:0:1"])(
    "takes loopback %s only where allowed",
    (text) => {
      expect(isPossible(text)).toBe(false);
      expect(isPossible(text, true)).toBe(true);
    },
  );

  test.for([
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "0:0:0:0:0:ffff:169.254.169.254",
    "::ffff:0:127.0.0.1",
    "::127.0.0.1",
    "::7f00:1",
    "::ffff:10.1.0.7",
    "::FFFF:0.0.0.0",
  ])("refuses %s, an IPv4 address in IPv6", (text) => {
    expect(isPossible(text)).toBe(false);
    expect(isPossible(text, true)).toBe(false);
  });
});

test("canonicalIP() writes an address as Kubernetes does", () => {
  expect(canonicalIP("FD00:0:0:0::7")).toBe("fd00::7");
  expect(canonicalIP("10.1.0.7")).toBe("10.1.0.7");
});
