/** readOptions(): defaults, the environment, other names, and what makes no sense. @module */
import { expect, test } from "vitest";
import { HELP, readOptions } from "../../packages/runtime/options.ts";

test("readOptions() has the published defaults", () => {
  expect(readOptions([], {})).toEqual({
    root: "/workspace",
    host: "0.0.0.0",
    port: 8888,
    restPort: 8080,
    grpcPort: 9090,
    metadataPrefix: "SANDBOX_",
    shutdownMs: 10_000,
    execTimeoutMs: 300_000,
    outputBytes: 8 * 1024 ** 2,
    maxUploadBytes: 4 * 1024 ** 3,
    tokenFile: "/var/run/secrets/hookbox/runtime/token",
    tokenRequired: false,
    tokenScope: "all",
    allowedHosts: [],
    podUID: "",
    logLevel: "info",
    help: false,
  });
});

test("readOptions() takes the environment of the published runtime, and the command line over it", () => {
  const env = { SANDBOX_BASE_DIR: "/app", SANDBOX_EXEC_TIMEOUT_SECONDS: "20" };
  expect(readOptions([], env)).toMatchObject({ root: "/app", execTimeoutMs: 20_000 });
  const args = ["--root", "/r", "--exec-timeout", "1.5m", "--token-file", "/t", "--token-scope", "bind"];
  const want = { root: "/r", execTimeoutMs: 90_000, tokenFile: "/t", tokenRequired: true, tokenScope: "bind" };
  expect(readOptions(args, env)).toMatchObject(want);
  const others = ["--root-dir", "/d", "--listen-host", "::1", "--max-output", "64Ki", "--max-upload", "5"];
  expect(readOptions(others, env)).toMatchObject({ root: "/d", host: "::1", outputBytes: 65536, maxUploadBytes: 5 });
  expect(readOptions([], { HOOKBOX_POD_UID: "a-b" })).toMatchObject({ podUID: "a-b" });
  expect(readOptions(["--pod-uid", "c"], { HOOKBOX_POD_UID: "a-b" })).toMatchObject({ podUID: "c" });
  expect(readOptions(["--port", "0", "--rest-port", "0"], {})).toMatchObject({ port: 0, restPort: 0 });
});

test.for(
  [
    [["--port", "x"], 'Cannot listen on port "x"'],
    [["--rest-port", "70000"], 'Cannot listen on port "70000"'],
    [["--grpc-port", "-1"], "--grpc-port"],
    [["--grpc-port", ""], 'Cannot listen on port ""'],
    [["--port", "8080"], "Cannot listen on port 8080 twice"],
    [["--shutdown-timeout", "soon"], 'Cannot wait for "soon"'],
    [["--exec-timeout", "-1"], "--exec-timeout"],
    [["--max-output", "0"], 'Cannot keep output of "0"'],
    [["--max-upload", "1GB"], 'Cannot take files of "1GB"'],
    [["--token-scope", "none"], 'Cannot guard "none": use all or bind'],
    [["--log-level", "loud"], 'Cannot log at level "loud"'],
    [["--nothing"], "--nothing"],
    [["word"], "word"],
  ] as const,
)("readOptions(%j) throws %j", ([args, message]) => {
  expect(() => readOptions([...args], {})).toThrow(message);
});

test("the help names every option", () => {
  const options = [
    "root",
    "host",
    "port",
    "rest-port",
    "grpc-port",
    "metadata-env-prefix",
    "exec-timeout",
    "max-output",
  ];
  for (
    const name of [...options, "max-upload", "token-file", "token-scope", "pod-uid", "shutdown-timeout", "log-level"]
  ) {
    expect(HELP).toMatch(new RegExp(`^ +--${name} `, "m"));
  }
});
