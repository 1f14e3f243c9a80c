/** @module */
import { expect, test } from "vitest";
import { isReservedKey } from "../../../packages/api/objects/keys.ts";
import { isDNSLabel, isDNSSubdomain, nameHash } from "../../../packages/api/objects/names.ts";

// Published vectors of FNV-1a, 32 bits; the last two show the bytes of UTF-8 and the padding.
test.for(
  [
    ["", "811c9dc5"],
    ["a", "e40c292c"],
    ["foobar", "bf9cf968"],
    ["é", "1e9de8c1"],
  ] as const,
)("nameHash(%s) is %s", ([name, hash]) => {
  expect(nameHash(name)).toBe(hash);
});

test("nameHash() always has eight digits", () => {
  const hashes = Array.from({ length: 2000 }, (_, index) => nameHash(`n${index}`));
  expect(hashes.every((hash) => /^[0-9a-f]{8}$/.test(hash))).toBe(true);
  expect(hashes.some((hash) => hash.startsWith("0"))).toBe(true);
});

test.for(
  [
    ["a", true, true],
    ["9a", true, true],
    ["a.b", false, true],
    ["-a", false, false],
    ["a-", false, false],
    ["", false, false],
    ["A", false, false],
    ["a..b", false, false],
    ["a".repeat(63), true, true],
    ["a".repeat(64), false, true],
    ["a".repeat(254), false, false],
  ] as const,
)("%s: label %s, subdomain %s", ([name, label, subdomain]) => {
  expect([isDNSLabel(name), isDNSSubdomain(name)]).toEqual([label, subdomain]);
});

test.for(
  [
    ["agents.x-k8s.io/claim-uid", true],
    ["extensions.agents.x-k8s.io/x", true],
    ["api.agents.x-k8s.io/x", false],
    ["agents.x-k8s.io", false],
    ["app", false],
  ] as const,
)("isReservedKey(%s) is %s", ([key, reserved]) => {
  expect(isReservedKey(key)).toBe(reserved);
});
