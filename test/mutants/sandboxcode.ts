/** Mutants of what keeps code in a sandbox from harming its runtime, the router and others' sandboxes. @module */
import type { Mutant } from "./mutant.ts";

const ESCAPE_TEST = ["test/runtime/escape.test.ts"];
const HEAD_TEST = ["test/router/proxy/headwait.test.ts"];
const EVIDENCE_TEST = ["test/router/idle/activity.test.ts"];
const CONTEXTS_TEST = ["test/runtime/contexts/contexts.test.ts"];
const KILL_TEST = ["test/runtime/processes/killall.test.ts"];
const WAITING_TEST = ["test/runtime/rpc/alone/waiting.test.ts"];

export const SANDBOX_CODE: readonly Mutant[] = [
  {
    name: "a tar leaves a symlink that leads out of the root",
    file: "packages/runtime/files/unpack.ts",
    from: 'await root.locate(where, { missing: "allow" });',
    to: "",
    tests: ESCAPE_TEST,
  },
  {
    name: "a symlink in a path is a name like any other",
    file: "packages/runtime/confine.ts",
    from: 'kind === "link" && (followLast',
    to: 'kind === "link" && false && (followLast',
    tests: ESCAPE_TEST,
  },
  {
    name: "a path that ends above the root is the root",
    file: "packages/runtime/confine.ts",
    from: "if (walk.position.length < rootParts.length) throw outside(wanted);",
    to: "",
    tests: ESCAPE_TEST,
  },
  {
    name: "an answer that cannot be sent throws",
    file: "packages/router/proxy/forward.ts",
    from: 'return refuse(state, unanswered(state.target.name, "it sent an invalid HTTP response"));',
    to: 'throw new TypeError("invalid");',
    tests: ["test/router/proxy/answers.test.ts"],
  },
  {
    name: "headers of an answer that could not be sent go with the refusal",
    file: "packages/router/proxy/versions.ts",
    from: "for (const name of response.getHeaderNames()) response.removeHeader(name);",
    to: "",
    tests: ["test/router/proxy/answers.test.ts"],
  },
  {
    name: "a check of a sandbox that does not answer never ends",
    file: "packages/router/idle/activity.ts",
    from: "}), timeoutMs);",
    to: "}), 2 ** 31 - 1);",
    tests: EVIDENCE_TEST,
  },
  {
    name: "the router reads whatever a sandbox says of its activity",
    file: "packages/router/idle/activity.ts",
    from: 'if (body.size() > MOST_BYTES) fail("too long");',
    to: "",
    tests: EVIDENCE_TEST,
  },
  {
    name: "a sandbox that becomes Ready counts as used",
    file: "packages/router/idle/lastuse.ts",
    from: "const stated = [resumed, annotations",
    to: 'const stated = [resumed, findCondition(conditions, "Ready")?.lastTransitionTime, annotations',
    tests: ["test/router/idle/readiness.test.ts"],
  },
  {
    name: "informational answers may come without end",
    file: "packages/router/proxy/failure.ts",
    from: "if (++informational === MOST_INFORMATIONAL + 1) process.nextTick(end);",
    to: "",
    tests: HEAD_TEST,
  },
  {
    name: "a head that drips is waited for without end",
    file: "packages/router/proxy/failure.ts",
    from: "if (!isAnswered && responseHeaderTimeout > 0) timer",
    to: "if (!isAnswered && responseHeaderTimeout < 0) timer",
    tests: HEAD_TEST,
  },
  {
    name: "a cookie's name is looked for again from each blank",
    file: "packages/router/proxy/headers.ts",
    from: 'setCookie.replace(/^[\\s=]+/, "").split(/[;=]/, 1)[0]?.trim()',
    to: "/^[\\s=]*([^;=]*?)\\s*(?:[;=]|$)/.exec(setCookie)?.[1]",
    tests: ["test/proportion.test.ts"],
  },
  {
    name: "offered protocols are split by each blank before a comma",
    file: "packages/runtime/terminal/socket.ts",
    from: '?.split(",").map((one) => one.trim())',
    to: "?.split(/\\s*,\\s*/)",
    tests: ["test/proportion.test.ts"],
  },
  {
    name: "what code writes to the interpreter's protocol is ignored",
    file: "packages/runtime/contexts/kernel.ts",
    from: 'if (!event) kill("the code wrote to a descriptor of hookbox");',
    to: "if (!event) return;",
    tests: CONTEXTS_TEST,
  },
  {
    name: "what code writes to the interpreter's protocol is believed",
    file: "packages/runtime/contexts/kernel.ts",
    from: "return lineSchema.safeParse(JSON.parse(line)).data;",
    to: "return JSON.parse(line);",
    tests: CONTEXTS_TEST,
  },
  {
    name: "a context stays busy after its run",
    file: "packages/runtime/contexts/contexts.ts",
    from: "context.busy = false;",
    to: "",
    tests: ["test/runtime/contexts/endings.test.ts"],
  },
  {
    name: "an orphan in a session of its own outlives its command",
    file: "packages/runtime/processes/killall.ts",
    from: "members.has(one.ppid) || hasMark(one.pid, mark)",
    to: "members.has(one.ppid)",
    tests: KILL_TEST,
  },
  {
    name: "only the process group of a command is killed",
    file: "packages/runtime/processes/killall.ts",
    from: 'for (const one of members.values()) signal(one, "SIGKILL");',
    to: "",
    tests: KILL_TEST,
  },
  {
    name: "input of a terminal is written again and again until its program reads",
    file: "packages/runtime/processes/terminal.ts",
    from: "if (ON_DENO) return void socket.write(bytes, done);",
    to: "return void socket.write(bytes, done);",
    tests: ["test/runtime/terminal/paste.test.ts"],
  },
  {
    name: "parts of a line are kept as they come",
    file: "packages/runtime/contexts/kernel.ts",
    from: "const line = createByteBuffer();",
    to: `const parts: Uint8Array[] = [];
  const line = {
    size: () => 0,
    add: (part: Uint8Array) => parts.push(part),
    takeText: () => new TextDecoder().decode(Buffer.concat(parts.splice(0))),
  };`,
    tests: ["test/process/alone/bytebuffer.test.ts"],
  },
  {
    name: "tiny pieces of output cost nothing where they wait",
    file: "packages/runtime/processes/output.ts",
    from: "waiting += bytes.length + PIECE_COST;",
    to: "waiting += bytes.length;",
    tests: ["test/runtime/processes/output.test.ts"],
  },
  {
    name: "a reader of a log leaves something behind for each write",
    file: "packages/runtime/processes/outputlog.ts",
    from: "else await changed.promise;",
    to: 'else await Promise.race([changed.promise, new Promise((done) => signal?.addEventListener("abort", done))]);',
    tests: WAITING_TEST,
  },
  {
    name: "who waits for a process and gives up leaves a listener behind",
    file: "packages/runtime/processes/processes.ts",
    from: 'signal.removeEventListener("abort", wake);',
    to: "",
    tests: WAITING_TEST,
  },
  {
    name: "an answer that accepts another protocol sets cookies for the whole domain",
    file: "packages/router/proxy/upgrade.ts",
    from: "headOf(101, answer.statusMessage, [...headers,",
    to: "headOf(101, answer.statusMessage, [...answer.rawHeaders,",
    tests: ["test/router/proxy/answerheaders.test.ts"],
  },
  {
    name: "a cache takes the answer of one sandbox for that of another",
    file: "packages/router/proxy/answerheaders.ts",
    from: 'if (rules.via === "headers") result.push("Vary", NAMES);',
    to: "",
    tests: ["test/router/proxy/answerheaders.test.ts"],
  },
  {
    name: "a sandbox sets the cookie that lets into it",
    file: "packages/router/proxy/headers.ts",
    from: 'if (name === "set-cookie" && cookieName !== undefined && nameOfCookie(value) === cookieName) continue;',
    to: "",
    tests: ["test/router/access/gate.test.ts"],
  },
  {
    name: "a service worker sees the tokens in addresses",
    file: "packages/router/access/gate.ts",
    from: 'browser.authzCookieQueryParam !== undefined && request.headers["service-worker"] === "script"',
    to: 'browser.authzCookieQueryParam === "" && request.headers["service-worker"] === "script"',
    tests: ["test/router/access/gate.test.ts"],
  },
  {
    name: "a cookie of a sandbox is for all sandboxes of the domain",
    file: "packages/router/proxy/answerheaders.ts",
    from: 'attributes.filter((attribute) => !isOf(attribute, "domain"))',
    to: "attributes",
    tests: ["test/router/proxy/rewrite.test.ts"],
  },
];
