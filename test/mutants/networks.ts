/** Mutants of what keeps others in the network, pages and bad hooks from harming processes of hookbox. @module */
import type { Mutant } from "./mutant.ts";

const DASHBOARD_TEST = ["test/router/dashboard/dashboard.test.ts"];
const CROWDS_TEST = ["test/router/dashboard/crowds.test.ts"];
const BOUNDARY_TEST = ["test/router/errorboundary.test.ts"];
const STREAMS_TEST = ["test/router/openstreams.test.ts"];
const POLICY_TEST = ["test/manifests.test.ts"];
const UNASKED_TEST = ["test/runtime/unasked.test.ts"];
const DEPLOYS_TEST = ["test/deploys/soak/baddeploys.test.ts"];
/** What a body is kept in that costs more than its bytes. */
const AS_IT_COMES = `const parts: Uint8Array[] = [];
    let bytes = 0;
    const body = {
      size: () => bytes,
      add: (part: Uint8Array) => void (bytes += part.length, parts.push(part)),
      take: () => Buffer.concat(parts),
      takeText: () => Buffer.concat(parts).toString(),
    };`;

export const NETWORKS: readonly Mutant[] = [
  {
    name: "a host that is none throws in a runtime",
    file: "packages/runtime/listen.ts",
    from: "response.writeHead(400);",
    to: 'throw new TypeError("host");',
    tests: ["test/fuzz/soak/runtime.test.ts"],
  },
  {
    name: "a connection that breaks where a terminal was asked for throws in a runtime",
    file: "packages/runtime/terminal/socket.ts",
    from: 'socket.on("error", () => socket.destroy());',
    to: "",
    tests: ["test/fuzz/soak/upgrades.test.ts"],
  },
  {
    name: "a request for a terminal is read by a parser that throws",
    file: "packages/runtime/terminal/socket.ts",
    from: 'url.split("?")',
    to: 'new URL(url, "http://localhost").href.split("?")',
    tests: ["test/runtime/terminal/socket.test.ts"],
  },
  {
    name: "a handshake that fails leaves its shell",
    file: "packages/runtime/terminal/socket.ts",
    from: "if (!isJoined && !entry.log) entry.kill();",
    to: "",
    tests: ["test/runtime/terminal/socket.test.ts"],
  },
  {
    name: "one user holds all places of the dashboard",
    file: "packages/router/limits.ts",
    from: "all >= most || before >= each",
    to: "all >= most",
    tests: DASHBOARD_TEST,
  },
  {
    name: "bodies from one address hold all places",
    file: "packages/router/dashboard/dashboard.ts",
    from: "createConcurrencyLimit(MAX_BODIES, MAX_BODIES_EACH)",
    to: "createConcurrencyLimit(MAX_BODIES, MAX_BODIES)",
    tests: DASHBOARD_TEST,
  },
  {
    name: "the dashboard shows hashes of API keys",
    file: "packages/router/dashboard/apikeys.ts",
    from: "return { name, rights, createdAt,",
    to: "return { ...entry, name, rights, createdAt,",
    tests: ["test/router/dashboard/apikeys.test.ts"],
  },
  {
    name: "the dashboard's requests for API keys have parameters",
    file: "packages/router/dashboard/apikeys.ts",
    from: "/secrets/${KEYS_SECRET}$`",
    to: "/secrets/${KEYS_SECRET}`",
    tests: ["test/router/dashboard/apikeys.test.ts"],
  },
  {
    name: "a request of the dashboard holds a place before its token is known",
    file: "packages/router/dashboard/dashboard.ts",
    from: "const identity = await identify(token, address);",
    to: `release = apiRequests("anybody");
      if (release === undefined) return sendRefusal(request, response, TOO_MANY);
      const identity = await identify(token, address);`,
    tests: CROWDS_TEST,
  },
  {
    name: "chunks of the dashboard's bodies are kept as they come",
    file: "packages/router/dashboard/dashboard.ts",
    from: "const body = createByteBuffer();",
    to: AS_IT_COMES,
    tests: ["test/router/dashboard/alone/tinychunks.test.ts"],
  },
  {
    name: "chunks of hooks' bodies are kept as they come",
    file: "packages/webhook/intake.ts",
    from: "const body = createByteBuffer();",
    to: AS_IT_COMES,
    tests: ["test/webhook/alone/intake.test.ts"],
  },
  {
    name: "an exception leaves the connection open that caused it",
    file: "packages/router/errorboundary.ts",
    from: "onContained(error);\n    end();",
    to: "onContained(error);",
    tests: BOUNDARY_TEST,
  },
  {
    name: "an exception ends all requests of its connection",
    file: "packages/router/server.ts",
    from: "runInBoundary(() => cutOff(response), () => handler.request",
    to: "runInBoundary(() => request.socket.destroy(), () => handler.request",
    tests: BOUNDARY_TEST,
  },
  {
    name: "an HTTP/2 connection has any number of streams",
    file: "packages/router/server.ts",
    from: "const HTTP2 = { settings: { maxConcurrentStreams: 250 } };",
    to: "const HTTP2 = {};",
    tests: STREAMS_TEST,
  },
  {
    name: "a stream that is answered stays open",
    file: "packages/router/answer.ts",
    from: "setTimeout(() => endRequest(request), DISCARD_MS)",
    to: "setTimeout(() => {}, DISCARD_MS)",
    tests: STREAMS_TEST,
  },
  {
    name: "an HTTP/2 connection without streams stays open",
    file: "packages/router/server.ts",
    from: "streams === 0 && session.close()",
    to: "streams < 0 && session.close()",
    tests: STREAMS_TEST,
  },
  {
    name: "one address asks the API server about any number of unknown tokens",
    file: "packages/router/dashboard/identity.ts",
    from: "cache.wasGood(key) ? ask()",
    to: "address ? ask()",
    tests: DASHBOARD_TEST,
  },
  {
    name: "the dashboard passes unknown tokens on",
    file: "packages/router/dashboard/dashboard.ts",
    from: "const { holder } = identity;",
    to: "const { holder = address } = identity;",
    tests: [...DASHBOARD_TEST, ...CROWDS_TEST],
  },
  {
    name: "a watch of the dashboard outlives the right to see it",
    file: "packages/router/dashboard/dashboard.ts",
    from: "const check = () => checkAgain(apiProxy, path, token, gone.signal);",
    to: "const check = () => ({});",
    tests: CROWDS_TEST,
  },
  {
    name: "a watch of the dashboard outlives its token",
    file: "packages/router/dashboard/dashboard.ts",
    from: "expires: expiryOf(token)",
    to: "expires: undefined",
    tests: CROWDS_TEST,
  },
  {
    name: "a log of the dashboard is asked for again whole, and followed",
    file: "packages/router/dashboard/dashboard.ts",
    from: '"follow",',
    to: "",
    tests: CROWDS_TEST,
  },
  {
    name: "the dashboard takes a token that browsers send by themselves",
    file: "packages/router/dashboard/dashboard.ts",
    from: 'TOKEN.exec(headers.authorization ?? "")',
    to: 'TOKEN.exec(headers.authorization ?? headers.cookie?.replace("token=", "Bearer ") ?? "")',
    tests: DASHBOARD_TEST,
  },
  {
    name: "any namespace reads the keeper's metrics",
    file: "deploy/keeper/keeper.yaml",
    from: "              metrics: enabled",
    to: "              {}",
    tests: POLICY_TEST,
  },
  {
    name: "the binder's policy selects no Pods of it",
    file: "deploy/binder/binder.yaml",
    from: "  name: hookbox-binder\nspec:\n  podSelector:\n    matchLabels:\n      app.kubernetes.io/name: binder",
    to: "  name: hookbox-binder\nspec:\n  podSelector:\n    matchLabels:\n      app.kubernetes.io/name: keeper",
    tests: POLICY_TEST,
  },
  {
    name: "a router keeps any number of silent connections",
    file: "packages/router/server.ts",
    from: 'if (!("alpnProtocol" in socket) || socket.alpnProtocol !== "h2") waiting.open(socket);',
    to: "",
    tests: ["test/router/connections.test.ts"],
  },
  {
    name: "a runtime keeps any number of silent connections",
    file: "packages/runtime/listen.ts",
    from: 'server.on("connection", waiting.open);',
    to: "",
    tests: ["test/runtime/connections.test.ts"],
  },
  {
    name: "a runtime reads bodies of requests without its token",
    file: "packages/runtime/rpc/routes.ts",
    from: "requestGate: async ({ requestHeader }: HandlerContext) => {",
    to: "_: async ({ requestHeader }: HandlerContext) => {",
    tests: UNASKED_TEST,
  },
  {
    name: "a refused body is waited for without end",
    file: "packages/runtime/listen.ts",
    from: "setTimeout(() => request.socket.destroy(), DISCARD_MS)",
    to: "setTimeout(() => {}, DISCARD_MS)",
    tests: UNASKED_TEST,
  },
  {
    name: "the template's hook changes a NetworkPolicy as it likes",
    file: "hooks/sandboxtemplate/childrules.ts",
    from: "spec: (change) => comesNearer(change, specOf(change.observed.parent, deniedEgressCidrs)),",
    to: "spec: () => true,",
    tests: DEPLOYS_TEST,
  },
  {
    name: "the Sandbox's hook labels Pods as it likes",
    file: "hooks/sandbox/podrules.ts",
    from: '"metadata.labels": (change) => followsSandbox(change, labelOf, inheritedLabels(change.child)),',
    to: '"metadata.labels": () => true,',
    tests: DEPLOYS_TEST,
  },
];
