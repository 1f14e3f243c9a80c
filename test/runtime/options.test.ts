/** readOptions(): defaults, the environment, other names, and what makes no sense. @module */
import { expect, test } from "vitest";
import { helpOf } from "../../packages/process/flaghelp.ts";
import { readOptions, RUNTIME } from "../../packages/runtime/options.ts";

const has = (env: Record<string, string>) => (name: string) => env[name];

test("readOptions() has the published defaults", () => {
  expect(readOptions([])).toEqual({
    host: "0.0.0.0",
    port: 8888,
    restPort: 8080,
    grpcPort: 9090,
    envdPort: 49_983,
    interpreterPort: 49999,
    metadataEnvPrefix: "SANDBOX_",
    shutdownTimeout: 10_000,
    execTimeout: 300_000,
    maxOutput: 8 * 1024 ** 2,
    maxUpload: 4 * 1024 ** 3,
    tokenFile: "/var/run/secrets/hookbox/runtime/token",
    tokenRequired: false,
    tokenScope: "all",
    allowUsers: [],
    allowedHosts: [],
    podUid: "",
    claimUid: "",
    deriveTokenFrom: undefined,
    logLevel: "info",
  });
});

test("readOptions() takes the environment of the published runtime, and the command line over it", () => {
  const env = has({ SANDBOX_BASE_DIR: "/app", SANDBOX_EXEC_TIMEOUT_SECONDS: "20" });
  expect(readOptions([], env)).toMatchObject({ root: "/app", execTimeout: 20_000 });
  const args = ["--root", "/r", "--exec-timeout", "1.5m", "--token-file", "/t", "--token-scope", "bind"];
  const want = { root: "/r", execTimeout: 90_000, tokenFile: "/t", tokenRequired: true, tokenScope: "bind" };
  expect(readOptions(args, env)).toMatchObject(want);
  const others = ["--root-dir", "/d", "--listen-host", "::1", "--max-output", "64Ki", "--max-upload", "5"];
  expect(readOptions(others, env)).toMatchObject({ root: "/d", host: "::1", maxOutput: 65536, maxUpload: 5 });
  expect(readOptions([], has({ HOOKBOX_POD_UID: "a-b" }))).toMatchObject({ podUid: "a-b" });
  expect(readOptions(["--pod-uid", "c"], has({ HOOKBOX_POD_UID: "a-b" }))).toMatchObject({ podUid: "c" });
  expect(readOptions(["--port", "0", "--rest-port", "0"])).toMatchObject({ port: 0, restPort: 0 });
  expect(readOptions(["--envd-port", "off"])?.envdPort).toBeUndefined();
  expect(readOptions(["--interpreter-port", "off"])?.interpreterPort).toBeUndefined();
});

test.for(
  [
    [["--port", "x"], 'Cannot use --port "x": use a whole number from 0 to 65535'],
    [["--rest-port", "70000"], 'Cannot use --rest-port "70000"'],
    [["--grpc-port", "-1"], "--grpc-port"],
    [["--grpc-port", ""], 'Cannot use --grpc-port ""'],
    [["--interpreter-port", "on"], 'Cannot use --interpreter-port "on": use a whole number from 0 to 65535, or off'],
    [["--port", "8080"], "Cannot listen on port 8080 twice"],
    [["--envd-port", "8080"], "Cannot listen on port 8080 twice"],
    [["--interpreter-port", "8080"], "Cannot listen on port 8080 twice"],
    [["--shutdown-timeout", "soon"], 'Cannot use --shutdown-timeout "soon": use a duration such as 200ms'],
    [["--exec-timeout", "-1"], "--exec-timeout"],
    [["--max-output", "0"], 'Cannot use --max-output "0": use a size such as'],
    [["--max-upload", "1GB"], 'Cannot use --max-upload "1GB"'],
    [["--token-scope", "none"], 'Cannot use --token-scope "none": use all or bind'],
    [["--log-level", "loud"], 'Cannot use --log-level "loud"'],
    [["--nothing"], "--nothing"],
    [["word"], "word"],
  ] as const,
)("readOptions(%j) throws %j", ([args, message]) => {
  expect(() => readOptions([...args])).toThrow(message);
});

test("an error in a variable of the environment names the variable", () => {
  expect(() => readOptions([], has({ SANDBOX_EXEC_TIMEOUT_SECONDS: "x" }))).toThrow(
    'Cannot use SANDBOX_EXEC_TIMEOUT_SECONDS "x": use a duration',
  );
});

test("the help names every option, its other names and its variables", () => {
  const help = helpOf(RUNTIME);
  for (const name of Object.keys(RUNTIME.flags)) expect(help).toMatch(new RegExp(`^ +--${name} `, "m"));
  expect(help).toMatch(
    /does\s+not exist\s+\(default: the variable\s+SANDBOX_BASE_DIR,\s+or requests reach all files\);\s+also --root-dir/,
  );
});
