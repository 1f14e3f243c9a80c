/** Mutants of what keeps sandboxes from harming their clients: SDK, command line, MCP server and dashboard's page. @module */
import type { Mutant } from "./mutant.ts";

const HOSTILE_TEST = ["test/sdk/files/hostile.test.ts"];
const BOUNDED_TEST = ["test/sdk/runtime/bounded.test.ts"];
const TINY_TEST = ["test/sdk/runtime/alone/tinyvalues.test.ts"];
const PIECES_TEST = ["test/sdk/commands/alone/tinypieces.test.ts"];
const ENDLESS_TEST = ["test/sdk/commands/endless.test.ts"];
const ARRIVED_TEST = ["test/sdk/runtime/arrived.test.ts"];
const PLAIN_TEST = ["test/cli/plain.test.ts"];

export const SDK: readonly Mutant[] = [
  {
    name: "a sandbox chooses under which name a file is downloaded",
    file: "packages/sdk/disk/download.ts",
    from: "targetOf(remotePath, localPath, entry.type)",
    to: "targetOf(entry.path, localPath, entry.type)",
    tests: HOSTILE_TEST,
  },
  {
    name: "a file of a tar keeps its setuid bit",
    file: "packages/sdk/disk/unpack.ts",
    from: "await handle.chmod(attributes.mode & PERMISSIONS);",
    to: "await handle.chmod(attributes.mode & 0o7777);",
    tests: HOSTILE_TEST,
  },
  {
    name: "a file that is looked at keeps its setuid bit",
    file: "packages/sdk/files/entry.ts",
    from: "Number.parseInt(mode, 8) & 0o777;",
    to: "Number.parseInt(mode, 8) & 0o7777;",
    tests: HOSTILE_TEST,
  },
  {
    name: "a downloaded link leads out of its folder",
    file: "packages/sdk/disk/unpack.ts",
    from: "isForeign || levelsUp > parts.length - 1 ||",
    to: "isForeign ||",
    tests: HOSTILE_TEST,
  },
  {
    name: "a downloaded file goes through a link of the caller's",
    file: "packages/sdk/disk/unpack.ts",
    from: "if ((await lstat(bytePath(path))).isDirectory()) return;",
    to: "if ((await lstat(bytePath(path))).mtimeMs > 0) return;",
    tests: HOSTILE_TEST,
  },
  {
    name: "the words of an error are read to their end",
    file: "packages/sdk/runtime/bounded.ts",
    from: "if (!isWhole) break;",
    to: "",
    tests: BOUNDED_TEST,
  },
  {
    name: "a message may be as long as it says",
    file: "packages/sdk/runtime/bounded.ts",
    from: "if (length > MESSAGE_BYTES) throw",
    to: "if (length < 0) throw",
    tests: BOUNDED_TEST,
  },
  {
    name: "more of a file is read than was asked for",
    file: "packages/sdk/files/read.ts",
    from: "if (wanted.length < chunk.length) return;",
    to: "",
    tests: BOUNDED_TEST,
  },
  {
    name: "a message has any number of fields",
    file: "packages/sdk/runtime/bounded.ts",
    from: "if (!schema || fieldsUpTo(schema, message, mostFields)) return;",
    to: "if (mostFields > 0) return;",
    tests: TINY_TEST,
  },
  {
    name: "all output of code is kept",
    file: "packages/sdk/code/run.ts",
    from: "const kept = text.slice(0, Math.max(0, left));",
    to: "const kept = text;",
    tests: BOUNDED_TEST,
  },
  {
    name: "any number of results is kept",
    file: "packages/sdk/code/run.ts",
    from: "length >= maxResultsLength || results.length === MAX_RESULTS",
    to: "length >= maxResultsLength",
    tests: BOUNDED_TEST,
  },
  {
    name: "results of any length are kept",
    file: "packages/sdk/code/run.ts",
    from: "length += lengthOf(result);",
    to: "",
    tests: BOUNDED_TEST,
  },
  {
    name: "tiny pieces of a command's output are kept one by one",
    file: "packages/sdk/commands/output.ts",
    from: "if (pieces.length === PIECES) join();",
    to: "",
    tests: PIECES_TEST,
  },
  {
    name: "tiny pieces that wait for a reader cost nothing",
    file: "packages/sdk/transport/exec.ts",
    from: "const EVENT_OVERHEAD_BYTES = 256;",
    to: "const EVENT_OVERHEAD_BYTES = 0;",
    tests: PIECES_TEST,
  },
  {
    name: "tiny chunks of a file are kept one by one",
    file: "packages/sdk/files/read.ts",
    from: "gathered.add(chunk);",
    to: "parts.push(chunk);",
    tests: TINY_TEST,
  },
  {
    name: "the MCP server keeps more of code's output than it returns",
    file: "packages/cli/mcp/tools/code.ts",
    from: ", maxOutputLength: 0, maxResultsLength: 0 };",
    to: " };",
    tests: ["test/cli/mcp/alone/code.test.ts"],
  },
  {
    name: "a list of folders has no end",
    file: "packages/sdk/files/manage.ts",
    from: "if (found[what] <= most[what]) continue;",
    to: "if (found[what] >= 0) continue;",
    tests: BOUNDED_TEST,
  },
  {
    name: "a call waits for as long as the sandbox likes",
    file: "packages/sdk/runtime/repeat.ts",
    from: "const cancel = after(left, () => leaving.abort(late()));",
    to: "const cancel = () => {};",
    tests: ENDLESS_TEST,
  },
  {
    name: "a command whose stream breaks off at once is followed without limit",
    file: "packages/sdk/commands/process.ts",
    from: 'if (read?.type === "output" ||',
    to: 'if (read?.type === "started" || read?.type === "output" ||',
    tests: ENDLESS_TEST,
  },
  {
    name: "a request that was answered 502 has never arrived",
    file: "packages/sdk/runtime/answers.ts",
    from: "mayHaveArrived: fromRouter !== NOT_SENT",
    to: "mayHaveArrived: false",
    tests: ARRIVED_TEST,
  },
  {
    name: "a request that may have arrived is sent again",
    file: "packages/sdk/runtime/repeat.ts",
    from: "(repeatable || !error.mayHaveArrived)",
    to: "(repeatable || error.mayHaveArrived !== undefined)",
    tests: ARRIVED_TEST,
  },
  {
    name: "the command line writes control characters as they are",
    file: "packages/cli/terminal.ts",
    from: 'output.write(typeof data === "string" ? plain(data) : data)',
    to: "output.write(data)",
    tests: PLAIN_TEST,
  },
  {
    name: "control characters of one byte are text",
    file: "packages/cli/terminal.ts",
    from: "\\x1f\\x7f-\\x9f\\u202a",
    to: "\\x1f\\x7f\\u202a",
    tests: PLAIN_TEST,
  },
  {
    name: "sandboxes set cookies in the dashboard's origin",
    file: "packages/dashboard/inside.tsx",
    from: ', credentials: "omit", fetch: routerFetch }',
    to: ", fetch: routerFetch }",
    tests: ["test/dashboard/inside.test.ts"],
  },
];
