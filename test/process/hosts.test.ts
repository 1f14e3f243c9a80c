import { expect, test } from "vitest";
import { isLoopback, isRebound, parseHosts } from "../../packages/process/hosts.ts";

test.for(["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1", "0:0:0:0:0:0:0:1"])("%s is loopback", (address) => {
  expect(isLoopback(address)).toBe(true);
});

test.for(["10.0.0.1", "::", "::2", "::ffff:10.0.0.1", "0.0.0.0", "localhost", ""])("%s is not loopback", (address) => {
  expect(isLoopback(address)).toBe(false);
});

test.for<[host: string | undefined, localAddress: string | undefined, isRebound: boolean]>([
  [undefined, "127.0.0.1", false],
  ["localhost", "127.0.0.1", false],
  ["LOCALHOST:8888", "127.0.0.1", false],
  ["8888-demo-team.sandboxes.localhost:80", "::1", false],
  ["127.0.0.1:8888", "127.0.0.1", false],
  ["10.1.2.3:8888", "127.0.0.1", false],
  ["[::1]:8888", "::1", false],
  ["own.example:8888", "127.0.0.1", false],
  ["Own.Example.", "::ffff:127.0.0.1", false],
  ["evil.example", "127.0.0.1", true],
  ["evil.example:8888", "::1", true],
  ["localhost.evil.example", "127.0.0.1", true],
  ["evillocalhost", "127.0.0.1", true],
  ["127.0.0.1.evil.example", "127.0.0.1", true],
  ["sub.own.example", "127.0.0.1", true],
  ["", "127.0.0.1", true],
  ["evil.example", "10.0.0.1", false],
  ["evil.example", undefined, false],
])("Host %s over %s: rebound %s", ([host, localAddress, expected]) => {
  expect(isRebound({ host, localAddress }, parseHosts(" own.example,,Other.example"))).toBe(expected);
});
