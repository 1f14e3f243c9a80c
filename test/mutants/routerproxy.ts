/** Mutants of the code that passes requests and answers between clients, browsers included, and sandboxes. @module */
import type { Mutant } from "./mutant.ts";

const CROSS_ORIGIN_TEST = ["test/router/access/crossorigin.test.ts"];
const FRAMING_TEST = ["test/router/proxy/framing.test.ts"];
const ANSWER_TEST = ["test/router/proxy/answerheaders.test.ts"];
const RECHECK_TEST = ["test/router/access/recheck.test.ts"];

export const ROUTER_PROXY: readonly Mutant[] = [
  {
    name: "a call of gRPC that is broken off looks whole",
    file: "packages/router/proxy/forwardgrpc.ts",
    from: "if (!isWholeAnswer) return cutOff(response);",
    to: "",
    tests: ["test/router/proxy/grpc.test.ts"],
  },
  {
    name: "an answer is lost that comes before the upload has ended",
    file: "packages/router/proxy/dial.ts",
    from: "ignoreWriteErrors(connect(options as NetConnectOpts))",
    to: "connect(options as NetConnectOpts)",
    tests: ["test/router/proxy/earlyanswer.test.ts"],
  },
  {
    name: "who has woken a sandbox does not wait for its app",
    file: "packages/router/proxy/failure.ts",
    from: '"ECONNREFUSED" && mayNotListenYet()',
    to: '"ECONNREFUSED" && false',
    tests: ["test/router/wake/lateport.test.ts"],
  },
  {
    name: "a stream outlives its token",
    file: "packages/router/access/recheck.ts",
    from: "if (leftMs < periodMs) timer",
    to: "if (leftMs < -Infinity) timer",
    tests: RECHECK_TEST,
  },
  {
    name: "a stream outlives the right to connect",
    file: "packages/router/access/recheck.ts",
    from: "everyMs === 0 ? {}",
    to: "everyMs >= 0 ? {}",
    tests: RECHECK_TEST,
  },
  {
    name: "bad tokens shut out a good one of their address",
    file: "packages/router/access/tokenreview.ts",
    from: ", isPatient: true }",
    to: " }",
    tests: ["test/router/access/tokenreview.test.ts"],
  },
  {
    name: "a length that Connection lists is left out",
    file: "packages/router/proxy/headers.ts",
    from: 'new Set(["content-length", "host"])',
    to: "new Set<string>()",
    tests: FRAMING_TEST,
  },
  {
    name: "headers of a hop pass to the sandbox",
    file: "packages/router/proxy/headers.ts",
    from: "NOT_TO_SANDBOX.has(name) || listed.has(name)",
    to: "NOT_TO_SANDBOX.has(name)",
    tests: FRAMING_TEST,
  },
  {
    name: "a request names two hosts",
    file: "packages/router/destination.ts",
    from: "return hosts > 1;",
    to: "return false;",
    tests: FRAMING_TEST,
  },
  {
    name: "a sandbox sets what browsers keep for the origin",
    file: "packages/router/proxy/headers.ts",
    from: ", ...STORED_BY_BROWSERS]",
    to: "]",
    tests: ANSWER_TEST,
  },
  {
    name: "a sandbox sees the token that the address of its page had",
    file: "packages/router/access/credentials.ts",
    from: "referer?.value === undefined",
    to: "true",
    tests: ANSWER_TEST,
  },
  {
    name: "a page of another origin reads answers as scripts",
    file: "packages/router/proxy/answerheaders.ts",
    from: 'result.push("X-Content-Type-Options", "nosniff");',
    to: "",
    tests: ANSWER_TEST,
  },
  {
    name: "a page of another origin without an Origin is a program",
    file: "packages/router/access/crossorigin.ts",
    from: "if (origin === undefined) return NO_TOKEN;",
    to: "if (origin === undefined) return undefined;",
    tests: CROSS_ORIGIN_TEST,
  },
  {
    name: "a page of another origin wakes a sandbox",
    file: "packages/router/admit.ts",
    from: 'crossOrigin === "no wake" ? { wakes: false }',
    to: "false ? { wakes: false }",
    tests: CROSS_ORIGIN_TEST,
  },
];
