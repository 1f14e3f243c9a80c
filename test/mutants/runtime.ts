/** Mutants of who gets into a sandbox's runtime, and to whom the MCP server listens. @module */
import type { Mutant } from "./mutant.ts";

const TOKEN_TEST = ["test/runtime/token.test.ts"];
const ORIGIN_TEST = ["test/runtime/http/guard.test.ts"];
const SOCKET_TEST = ["test/runtime/terminal/socket.test.ts"];

export const RUNTIME: readonly Mutant[] = [
  {
    name: "a token file that cannot be read opens the door",
    file: "packages/runtime/token.ts",
    from: 'return isAbsent(error) ? undefined : "";',
    to: "return isAbsent(error) ? undefined : void 0;",
    tests: TOKEN_TEST,
  },
  {
    name: "a token file that is gone opens the door",
    file: "packages/runtime/token.ts",
    from: "token === undefined && !required",
    to: "token === undefined",
    tests: TOKEN_TEST,
  },
  {
    name: "a page is known by what it says it was forwarded for",
    file: "packages/runtime/http/guard.ts",
    from: 'from !== header("host") && from !== header("x-forwarded-host")',
    to: 'from !== header("host") && header("x-forwarded-host") === undefined',
    tests: ORIGIN_TEST,
  },
  {
    name: "a page whose origin is none is let in",
    file: "packages/runtime/http/guard.ts",
    from: "return from === undefined || (",
    to: "return from !== undefined && (",
    tests: ORIGIN_TEST,
  },
  {
    name: "a wrong token is a right one",
    file: "packages/runtime/http/guard.ts",
    from: 'if (verdict === "missing" || verdict === "wrong") {',
    to: 'if (verdict === "missing") {',
    tests: ["test/wiring/runtime-access.test.ts"],
  },
  {
    name: "a page of another origin has a terminal",
    file: "packages/runtime/terminal/socket.ts",
    from: 'if (why !== undefined) throw new Refused("PERMISSION_DENIED", why);',
    to: "",
    tests: SOCKET_TEST,
  },
  {
    name: "a file takes the place of a device",
    file: "packages/runtime/files/write.ts",
    from: "if (old && !old.isFile() && !old.isSymbolicLink()) {",
    to: "if (old && !old.isFile() && old.isSymbolicLink()) {",
    tests: ["test/wiring/wholefilesystem.test.ts"],
  },
];
