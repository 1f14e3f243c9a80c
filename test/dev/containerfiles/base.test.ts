/** @module */
import { expect, test } from "vitest";
import { debianOf } from "../../../dev/containerfiles/buildah.ts";

const RELEASE = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_CODENAME=bookworm\nID=debian\n';

test.each([
  ["stanzas", "Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm bookworm-updates\nComponents: main\n"],
  [
    "a stanza after one of another suite",
    "Types: deb\nURIs: https://other.example/node\nSuites: nodistro\n\n" +
    "Types: deb\nURIs: http://mirror.example/debian/\nSuites: bookworm\n",
  ],
  [
    "lines",
    "deb [signed-by=/k.gpg] http://mirror.example/debian bookworm main\ndeb http://x.example/apt bookworm main\n",
  ],
])("debianOf() reads the suite, and the mirror from %s", (_, sources) => {
  expect(debianOf(RELEASE, sources)).toEqual({ suite: "bookworm", mirror: "http://mirror.example/debian" });
});

test("debianOf() says what is missing", () => {
  expect(() => debianOf("ID=alpine\n", "")).toThrow("Cannot make a base: this is not Debian");
  const security = "URIs: http://mirror.example/debian-security\nSuites: bookworm-security\n";
  expect(() => debianOf(RELEASE, security)).toThrow("Cannot make a base: no source of apt has Debian's bookworm");
});
