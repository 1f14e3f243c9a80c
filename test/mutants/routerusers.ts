/** Mutants of what keeps one user of a router from using up the router, or its memory, for others. @module */
import type { Mutant } from "./mutant.ts";

const OBSERVER_TEST = ["test/router/observe/observer.test.ts"];
const CACHE_TEST = ["test/router/access/verdictcache.test.ts"];
const CROWDS_TEST = ["test/router/access/crowds.test.ts"];
const REVIEW_QUEUE_TEST = ["test/router/access/reviewqueue.test.ts"];
const CHUNKS_TEST = ["test/router/proxy/alone/tinychunks.test.ts"];
const RECORDS_TEST = ["test/router/index/records.test.ts"];
const CONNECTIONS_TEST = ["test/router/connections.test.ts"];

export const ROUTER_USERS: readonly Mutant[] = [
  {
    name: "unused wakes of a namespace add up without limit",
    file: "packages/router/limits.ts",
    from: "Math.min(burst, tokens + (now - at) / 1000 * perSecond)",
    to: "tokens + (now - at) / 1000 * perSecond",
    tests: ["test/router/limits.test.ts"],
  },
  {
    name: "one user's answers push out those of others",
    file: "packages/process/sharedcache.ts",
    from: "const [oldest] = largestOf(keysOf.values());",
    to: "const [oldest] = entries.keys();",
    tests: [...CACHE_TEST, ...CROWDS_TEST],
  },
  {
    name: "refused tokens push out valid ones",
    file: "packages/router/access/reviews.ts",
    from: "(isGood ? good : bad).add(",
    to: "(isGood ? good : good).add(",
    tests: CACHE_TEST,
  },
  {
    name: "a user has any number of names of Sandboxes reviewed",
    file: "packages/router/access/tokenreview.ts",
    from: 'if (seconds > 0) return tooMany("Too many sandboxes that this user has not asked for lately.", seconds);',
    to: "",
    tests: CROWDS_TEST,
  },
  {
    name: "an ambiguous request is taken",
    file: "packages/router/server.ts",
    from: "maxHeaderSize: MAX_HEADER_BYTES,",
    to: "maxHeaderSize: 64 * 1024,\n  insecureHTTPParser: true,",
    tests: ["test/router/proxy/smuggling.test.ts"],
  },
  {
    name: "each method that a client thinks up is a series",
    file: "packages/router/observe/metrics.ts",
    from: 'METHODS.has(anyMethod) ? anyMethod : "other"',
    to: "anyMethod",
    tests: OBSERVER_TEST,
  },
  {
    name: "each status code that a sandbox thinks up is a series",
    file: "packages/router/observe/metrics.ts",
    from: 'CODES.has(anyCode) ? anyCode : "other"',
    to: "anyCode",
    tests: OBSERVER_TEST,
  },
  {
    name: "any number of a user's requests wait for the API server's answer",
    file: "packages/router/access/reviews.ts",
    from: "queue.waiting.size >= MOST_WAITING",
    to: "queue.waiting.size < 0",
    tests: REVIEW_QUEUE_TEST,
  },
  {
    name: "a request waits for the API server's answer as long as it takes",
    file: "packages/router/access/reviews.ts",
    from: "createDeadlines(LONGEST_WAIT_MS)",
    to: "createDeadlines(10 * LONGEST_WAIT_MS)",
    tests: REVIEW_QUEUE_TEST,
  },
  {
    name: "a user who was denied too often still causes requests to the API server",
    file: "packages/router/access/reviews.ts",
    from: "begin(seconds > 0 ? tooMany(detail, seconds) : undefined);",
    to: "begin();",
    tests: REVIEW_QUEUE_TEST,
  },
  {
    name: "chunks of an answer wait one by one",
    file: "packages/router/proxy/forward.ts",
    from: "  coalesce(answer);\n",
    to: "",
    tests: CHUNKS_TEST,
  },
  {
    name: "chunks of an upload wait one by one",
    file: "packages/router/handle.ts",
    from: "coalesceBody(request);",
    to: "",
    tests: CHUNKS_TEST,
  },
  {
    name: "frames of an upload by HTTP/2 wait one by one",
    file: "packages/router/proxy/streams.ts",
    from: "if (isHttp2(request)) coalesce((request as unknown as Http2ServerRequest).stream);",
    to: "",
    tests: CHUNKS_TEST,
  },
  {
    name: "all streams of tiny chunks go on in the same turn",
    file: "packages/router/proxy/streams.ts",
    from: "if (isTaken) return false;",
    to: "",
    tests: CHUNKS_TEST,
  },
  {
    name: "an annotation is kept, however long it is",
    file: "packages/router/index/records.ts",
    from: "text !== undefined && text.length <= MOST_CHARACTERS",
    to: "text !== undefined",
    tests: RECORDS_TEST,
  },
  {
    name: "all annotations of a Sandbox are kept",
    file: "packages/router/index/records.ts",
    from: "...presentOf(ROUTER_ANNOTATIONS, own),",
    to: "...presentOf(Object.keys(metadata.annotations ?? {}), own),",
    tests: RECORDS_TEST,
  },
  {
    name: "the message of a condition is kept, however long it is",
    file: "packages/router/index/records.ts",
    from: " ?? []).map(truncated);",
    to: " ?? []);",
    tests: RECORDS_TEST,
  },
  {
    name: "one namespace's names use up the looks at the API server",
    file: "packages/router/index/sandboxapi.ts",
    from: "ofNamespace(namespace, time) > 0 || ",
    to: "",
    tests: ["test/router/index/sandboxapi.test.ts"],
  },
  {
    name: "one namespace takes all places for requests",
    file: "packages/router/limits.ts",
    from: "if (own >= most - taken) {",
    to: "if (taken >= most) {",
    tests: CONNECTIONS_TEST,
  },
  {
    name: "any number of requests is open",
    file: "packages/router/assemble.ts",
    from: "createNamespaceLimit(options.maxOpenRequests || Infinity,",
    to: "createNamespaceLimit(Infinity,",
    tests: CONNECTIONS_TEST,
  },
  {
    name: "ten times as many requests are open on one connection",
    file: "packages/router/server.ts",
    from: "waiting.begin(socket) > MOST_PIPELINED",
    to: "waiting.begin(socket) > 10 * MOST_PIPELINED",
    tests: CONNECTIONS_TEST,
  },
  {
    name: "a refusal names the Sandbox that exists",
    file: "packages/router/access/gate.ts",
    from: "const { decision } = await askGate(route.target);",
    to: "const { decision } = await askGate(candidates.find(exists) ?? route.target);",
    tests: ["test/router/access/choosetarget.test.ts"],
  },
  {
    name: "any number of requests waits for one sandbox",
    file: "packages/router/wake/hold.ts",
    from: "own >= MOST_FOR_ONE",
    to: "own < 0",
    tests: ["test/router/wake/limit.test.ts"],
  },
];
