/** Mutants of who may reach which sandbox by the router, what is woken, and which Pod is reached. @module */
import type { Mutant } from "./mutant.ts";

const SCOPED_TEST = ["test/router/access/scopedtoken.test.ts"];
const REVIEW_TEST = ["test/router/access/tokenreview.test.ts"];
const GATE_TEST = ["test/router/access/gate.test.ts"];
const STANDING_TEST = ["test/router/index/reachability.test.ts"];
const INDEX_TEST = ["test/router/index/sandboxindex.test.ts"];
const WAKE_TEST = ["test/router/wake/wake.test.ts"];

export const ROUTER: readonly Mutant[] = [
  {
    name: "a token for one port opens all",
    file: "packages/router/access/scopedtoken.ts",
    from: "name !== target.name || port !== target.port",
    to: "name !== target.name",
    tests: SCOPED_TEST,
  },
  {
    name: "a token goes with an address that the client names",
    file: "packages/router/access/scopedtoken.ts",
    from: "target.podIP !== undefined || target.uid !== undefined",
    to: "target.uid !== undefined",
    tests: SCOPED_TEST,
  },
  {
    name: "a token has no end",
    file: "packages/router/access/scopedtoken.ts",
    from: "claims.exp * 1000 > now",
    to: "claims.exp * 1000 > now * 0",
    tests: SCOPED_TEST,
  },
  {
    name: "a signature of the same secret for something else is a token",
    file: "packages/router/access/scopedtoken.ts",
    from: ".update(signedText(payload))",
    to: ".update(payload)",
    tests: SCOPED_TEST,
  },
  {
    name: "a secret of few bytes is as good as any",
    file: "packages/router/access/scopedtoken.ts",
    from: "secrets.length === 0 || secrets.some(({ length }) => length < LEAST_BYTES)",
    to: "secrets.length === 0",
    tests: SCOPED_TEST,
  },
  {
    name: "a token that is made for others lets in",
    file: "packages/router/access/tokenreview.ts",
    from: "authenticated === true && isForUs",
    to: "authenticated === true",
    tests: REVIEW_TEST,
  },
  {
    name: "a denial counts for nothing beside a permission",
    file: "packages/router/access/tokenreview.ts",
    from: " && review.status.denied !== true",
    to: "",
    tests: REVIEW_TEST,
  },
  {
    name: "a right is asked for without the name of the Sandbox",
    file: "packages/router/access/tokenreview.ts",
    from: 'resource: "sandboxes", namespace, name };',
    to: 'resource: "sandboxes", namespace };',
    tests: REVIEW_TEST,
  },
  {
    name: "a right to one Sandbox is one to all of its namespace",
    file: "packages/router/access/tokenreview.ts",
    from: "user.extra, namespace, name]",
    to: "user.extra, namespace]",
    tests: REVIEW_TEST,
  },
  {
    name: "what was allowed once is allowed for ever",
    file: "packages/router/access/tokenreview.ts",
    from: "if (known && known.until > now)",
    to: "if (known)",
    tests: REVIEW_TEST,
  },
  {
    name: "a page of another origin may use the cookie",
    file: "packages/router/access/pages.ts",
    from: "hostOfOrigin(origin) !== hostOf(request)",
    to: "hostOfOrigin(origin) === undefined",
    tests: GATE_TEST,
  },
  {
    name: "the sandbox sees the token of the cookie",
    file: "packages/router/access/gate.ts",
    from: "replaced.length === 0 ? NOTHING : new Set(replaced.map(([name]) => name))",
    to: "NOTHING",
    tests: GATE_TEST,
  },
  {
    name: "a client behind a proxy chooses its own address",
    file: "packages/router/access/limits.ts",
    from: "if (!isProxy(address)) break;",
    to: "",
    tests: ["test/router/access/clientaddress.test.ts"],
  },
  {
    name: "a client may have one request more than it may",
    file: "packages/router/access/limits.ts",
    from: "count >= atOnce",
    to: "count > atOnce",
    tests: GATE_TEST,
  },
  {
    name: "a name that fits two Sandboxes leads to one of them",
    file: "packages/router/access/readings.ts",
    from: "if (chosen && !second) return chosen;",
    to: "if (chosen) return chosen;",
    tests: ["test/router/access/readings.test.ts"],
  },
  {
    name: "a member of a pool that no claim has is reached",
    file: "packages/router/index/reachability.ts",
    from: 'if (sandbox.isUnclaimed) return missing("it is a member of a pool that no claim has been given");',
    to: "",
    tests: STANDING_TEST,
  },
  {
    name: "a Pod in its node's network is reached",
    file: "packages/router/index/reachability.ts",
    from: 'if (pod?.usesHostNetwork) return broken("its Pod uses the network of its node");',
    to: "",
    tests: STANDING_TEST,
  },
  {
    name: "an expired Sandbox is reached",
    file: "packages/router/index/reachability.ts",
    from: "sandbox.expiresAt <= now",
    to: "sandbox.expiresAt <= 0",
    tests: STANDING_TEST,
  },
  {
    name: "a Pod of another namespace that names the UID is the Sandbox's",
    file: "packages/router/index/sandboxindex.ts",
    from: "entry?.sandbox.metadata.namespace === namespace ? entry : undefined",
    to: "entry",
    tests: INDEX_TEST,
  },
  {
    name: "an older version of a Sandbox takes the place of a newer one",
    file: "packages/router/index/sandboxindex.ts",
    from: "departed.has(uid) || known && isOlder(sandbox, known.sandbox)",
    to: "departed.has(uid)",
    tests: INDEX_TEST,
  },
  {
    name: "a Pod is the Sandbox's whatever kind its owner is of",
    file: "packages/router/index/records.ts",
    from: "sandboxUID: isOurs ? owner.uid : undefined",
    to: "sandboxUID: owner?.uid",
    tests: INDEX_TEST,
  },
  {
    name: "the client's word of an address is believed",
    file: "packages/router/index/reachability.ts",
    from: "if (pod.ips.includes(podIP)) return podIP;",
    to: "if (pod.ips.length > 0) return podIP;",
    tests: INDEX_TEST,
  },
  {
    name: "a wake overwrites what somebody else has just decided",
    file: "packages/router/wake/waker.ts",
    from: "metadata: { resourceVersion, annotations }",
    to: "metadata: { annotations }",
    tests: WAKE_TEST,
  },
  {
    name: "a Sandbox that says no is woken",
    file: "packages/router/wake/waitingrequest.ts",
    from: ' || sandbox?.annotations[WAKE_ANNOTATION] === "false"',
    to: " || sandbox === undefined",
    tests: WAKE_TEST,
  },
  {
    name: "requests that wait for one namespace leave no room for others",
    file: "packages/router/room.ts",
    from: "own >= most - taken",
    to: "taken >= most",
    tests: ["test/router/wake/room.test.ts"],
  },
  {
    name: "a request is HTTP/2 by what it calls itself",
    file: "packages/router/proxy/versions.ts",
    from: 'return "stream" in request;',
    to: "return request.httpVersionMajor === 2;",
    tests: ["test/router/http2.test.ts"],
  },
];
