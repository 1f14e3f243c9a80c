import { expect, test } from "vitest";
import { createAddressOf } from "../../../packages/router/access/clientaddress.ts";

const PROXIES = ["10.0.0.0/8", "fd00::/8", "192.0.2.7"];
const addressOf = (remoteAddress: string | undefined, forwarded?: string | string[], trusted = PROXIES) => {
  const headers = forwarded === undefined ? {} : { "x-forwarded-for": forwarded as string };
  return createAddressOf(trusted)({ socket: { remoteAddress } as never, headers });
};

test.for<[what: string, peer: string | undefined, forwarded: string | string[] | undefined, address: string]>([
  ["a client without a proxy", "203.0.113.1", undefined, "203.0.113.1"],
  ["one that claims to be another", "203.0.113.1", "198.51.100.9", "203.0.113.1"],
  ["behind a proxy", "10.0.0.1", "203.0.113.1", "203.0.113.1"],
  ["behind two", "10.0.0.1", "203.0.113.1, fd00::2", "203.0.113.1"],
  ["behind a proxy, with a claim of its own", "10.0.0.1", "198.51.100.9, 203.0.113.1", "203.0.113.1"],
  ["behind a proxy that writes a second header", "192.0.2.7", ["198.51.100.9", "203.0.113.1"], "203.0.113.1"],
  ["a proxy for itself", "10.0.0.1", undefined, "10.0.0.1"],
  ["behind a proxy that says nothing sensible", "10.0.0.1", "203.0.113.1, unknown", "10.0.0.1"],
  ["over an IPv6 socket", "::ffff:10.0.0.1", "::ffff:203.0.113.1", "203.0.113.1"],
  ["of a socket that is gone", undefined, "203.0.113.1", ""],
])("%s", ([, peer, forwarded, address]) => {
  expect(addressOf(peer, forwarded)).toBe(address);
});

test("without trusted proxies, headers do not count", () => {
  expect(addressOf("10.0.0.1", "203.0.113.1", [])).toBe("10.0.0.1");
});

test.for(["10.0.0.0/33", "fd00::/129", "proxy.example", "10.0.0/8", ""])("%s is no proxy to trust", (text) => {
  expect(() => createAddressOf([text])).toThrow(
    new RangeError(`Cannot trust the proxy "${text}": it is not an address or subnet such as 10.0.0.0/8`),
  );
});
