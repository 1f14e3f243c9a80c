/** Mutants of who gets into a sandbox's runtime, and to whom the MCP server listens. @module */
import type { Mutant } from "./mutant.ts";

const TOKEN_TEST = ["test/runtime/token.test.ts"];
const ORIGIN_TEST = ["test/runtime/http/origin.test.ts"];
const SOCKET_TEST = ["test/runtime/terminal/socket.test.ts"];
const MCP_TEST = ["test/mcp/http.test.ts"];

export const RUNTIME: readonly Mutant[] = [
  {
    name: "a token file that cannot be read opens the door",
    file: "runtime/token.ts",
    from: 'return isAbsent(error) ? undefined : "";',
    to: "return isAbsent(error) ? undefined : void 0;",
    tests: TOKEN_TEST,
  },
  {
    name: "a token file that is gone opens the door",
    file: "runtime/token.ts",
    from: "token === undefined && !required",
    to: "token === undefined",
    tests: TOKEN_TEST,
  },
  {
    name: "a page is known by what it says it was forwarded for",
    file: "runtime/http/origin.ts",
    from: 'from !== header("host") && from !== header("x-forwarded-host")',
    to: 'from !== header("host") && header("x-forwarded-host") === undefined',
    tests: ORIGIN_TEST,
  },
  {
    name: "a page whose origin is none is let in",
    file: "runtime/http/origin.ts",
    from: "return from === undefined || (",
    to: "return from !== undefined && (",
    tests: ORIGIN_TEST,
  },
  {
    name: "a wrong token is a right one",
    file: "runtime/http/guard.ts",
    from: 'if (verdict === "missing" || verdict === "wrong") return refuse',
    to: 'if (verdict === "missing") return refuse',
    tests: ["test/wiring/runtime-access.test.ts"],
  },
  {
    name: "a page of another origin has a terminal",
    file: "runtime/terminal/socket.ts",
    from: 'if (why !== undefined) throw new Refused("PERMISSION_DENIED", why);',
    to: "",
    tests: SOCKET_TEST,
  },
  {
    name: "a handshake that fails leaves a shell behind",
    file: "runtime/terminal/socket.ts",
    from: "if (!isJoined && !entry.log) entry.kill();",
    to: "",
    tests: SOCKET_TEST,
  },
  {
    name: "a Host that makes no URL ends the process",
    file: "runtime/listen-grpc.ts",
    from: "response.writeHead(400);",
    to: 'throw new Error("400");',
    tests: ["test/runtime/listen-grpc.test.ts"],
  },
  {
    name: "a weak token that is added later lets in",
    file: "mcp/http/access.ts",
    from: ".filter((token) => !isWeak(token))",
    to: "",
    tests: MCP_TEST,
  },
  {
    name: "a session is anybody's who has a token",
    file: "mcp/http/sessions.ts",
    from: "!entry || entry.owner !== owner",
    to: "!entry || owner === undefined",
    tests: MCP_TEST,
  },
  {
    name: "sessions that are just being made are not counted",
    file: "mcp/http/sessions.ts",
    from: "entries.size + reserved >= most",
    to: "entries.size >= most",
    tests: MCP_TEST,
  },
  {
    name: "where no origin is allowed all are",
    file: "mcp/http/rebinding.ts",
    from: "if (origin !== undefined && !origins",
    to: "if (origin !== undefined && origins.length > 0 && !origins",
    tests: ["test/wiring/mcp.test.ts"],
  },
  {
    name: "the id of a session is what stands on its sandboxes",
    file: "mcp/http/app.ts",
    from: "crypto.randomUUID()",
    to: "made.session.id",
    tests: MCP_TEST,
  },
];
