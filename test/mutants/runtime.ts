/** Mutants of who gets into a sandbox's runtime, and to whom the MCP server listens. @module */
import type { Mutant } from "./mutant.ts";

const TOKEN_TEST = ["test/runtime/token.test.ts"];
const ORIGIN_TEST = ["test/runtime/http/guard.test.ts"];
const BIND_TEST = ["test/runtime/bind.test.ts"];
const USERS_TEST = ["test/runtime/users.test.ts"];
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
  {
    name: "a caller chooses a user whom the template does not allow",
    file: "packages/runtime/users/users.ts",
    from: "if (!name || accounts.has(name) ||",
    to: "if (!name || accounts.size > 0 ||",
    tests: USERS_TEST,
  },
  {
    name: "a call runs as the only user, whichever it chooses",
    file: "packages/runtime/rpc/routes.ts",
    from: "users.check(requestHeader.get(USER_HEADER));",
    to: "",
    tests: USERS_TEST,
  },
  {
    name: "root serves the files of all users",
    file: "packages/runtime/users/userruntime.ts",
    from: "return other ? await forward(c, other, app) : await next();",
    to: "return await next();",
    tests: USERS_TEST,
  },
  {
    name: "the runtime of a user has the terminals of others",
    file: "packages/runtime/users/userruntime.ts",
    from: ', ...hideInheritable(Array(4).fill("ignore")).slice(4)],',
    to: "],",
    tests: USERS_TEST,
  },
  {
    name: "bound files belong to root",
    file: "packages/runtime/bind.ts",
    from: 'if (home) app.all("/v1/bind", (c) => forward(c, home, "rest"));',
    to: "",
    tests: USERS_TEST,
  },
  {
    name: "the SDK believes that every runtime knows users",
    file: "packages/sdk/runtime/runtimeclient.ts",
    from: "if (headers.get(USER_HEADER) !== user) {",
    to: "if (user === undefined) {",
    tests: USERS_TEST,
  },
  {
    name: "E2B's code interpreter asks for no token",
    file: "packages/runtime/e2b/interpreter/interpreter.ts",
    from: "token: options.token,",
    to: "token: undefined,",
    tests: ["test/wiring/runtime-access.test.ts"],
  },
  {
    name: "a client that leaves E2B's code interpreter leaves its code running",
    file: "packages/runtime/e2b/interpreter/interpreter.ts",
    from: "signal: c.req.raw.signal,",
    to: "",
    tests: ["test/runtime/interpreter/sdk.test.ts"],
  },
  {
    name: "a run leaves its variables behind",
    file: "packages/runtime/contexts/kernel.py",
    from: "os.environ.pop(name, None)",
    to: "pass",
    tests: ["test/runtime/interpreter/sdk.test.ts"],
  },
  {
    name: "a start command runs again with each delivery",
    file: "packages/runtime/bind.ts",
    from: "claim !== undefined && started?.claim !== claim) {",
    to: "claim !== undefined) {",
    tests: BIND_TEST,
  },
  {
    name: "a repeated delivery restores files that the start command has deleted",
    file: "packages/runtime/bind.ts",
    from: 'how === "add" || started?.claim === claim',
    to: 'how === "add"',
    tests: BIND_TEST,
  },
  {
    name: "variables are bound although the start command did not start",
    file: "packages/runtime/bind.ts",
    from: "({ env, ofClaim } = before);",
    to: "",
    tests: BIND_TEST,
  },
  {
    name: "a client reads a new Pod before the files of its claim are in it",
    file: "packages/runtime/assemble.ts",
    from: "isAwaited ? afterDelivery(files, env) : files",
    to: "files",
    tests: BIND_TEST,
  },
];
