/** The generated code is what the .proto files say, and process.v1 is the published wire. @module */
import type { DescMessage } from "@bufbuild/protobuf";
import { execFileSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import {
  file_process_v1_process,
  ProcessService,
  SignalSchema,
} from "../../../packages/runtime-api/gen/process/v1/process_pb.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

test("generating again gives the same bytes", () => {
  const out = mkdtempSync(join(tmpdir(), "hookbox-proto-"));
  const bin = join(ROOT, "node_modules/.bin");
  execFileSync(join(bin, "buf"), ["generate", "-o", join(out, "proto")], {
    cwd: join(ROOT, "packages/runtime-api/proto"),
    env: { ...process.env, PATH: `${bin}:${process.env["PATH"]}` },
  });
  const committed = globSync("**/*.ts", { cwd: join(ROOT, "packages/runtime-api/gen") }).sort();
  expect(globSync("**/*.ts", { cwd: join(out, "gen") }).sort()).toEqual(committed);
  for (const file of committed) {
    expect(readFileSync(join(out, "gen", file), "utf8")).toBe(
      readFileSync(join(ROOT, "packages/runtime-api/gen", file), "utf8"),
    );
  }
  rmSync(out, { recursive: true });
});

/** Names, numbers and types as the descriptor inside the Python package k8s-agent-sandbox 1.0.8 has them. */
const WIRE: Record<string, string[]> = {
  PTY: ["1 cols uint32", "2 rows uint32"],
  ProcessConfig: ["1 command string[]", "2 env_vars map", "3 cwd string?"],
  StartRequest: ["1 config ProcessConfig", "2 pty PTY"],
  InitEvent: ["1 process_id int32"],
  ExitEvent: ["1 exit_code int32"],
  StartResponse: ["1 event.init InitEvent", "2 event.stdout bytes", "3 event.stderr bytes", "4 event.exit ExitEvent"],
  ExecuteRequest: ["1 config ProcessConfig"],
  ExecuteResponse: ["1 exit_code int32", "2 stdout bytes", "3 stderr bytes"],
  WriteStdinRequest: ["1 process_id int32", "2 payload.input bytes", "3 payload.eof Empty"],
  WriteStdinResponse: [],
  SendSignalRequest: ["1 process_id int32", "2 signal Signal"],
  SendSignalResponse: [],
  ResizeTTYRequest: ["1 process_id int32", "2 cols uint32", "3 rows uint32"],
  ResizeTTYResponse: [],
};
const SCALARS: Record<number, string> = { 5: "int32", 9: "string", 12: "bytes", 13: "uint32" };

function fieldsOf(message: DescMessage): string[] {
  return message.fields.map((field) => {
    const owner = field.oneof ? `${field.oneof.name}.` : "";
    const type = field.message?.name ?? field.enum?.name ?? SCALARS[field.scalar ?? 0];
    const shape = { list: `${type}[]`, map: "map", scalar: `${type}`, message: `${type}`, enum: `${type}` };
    const optional = field.proto.proto3Optional && field.fieldKind === "scalar" ? "?" : "";
    return `${field.number} ${owner}${field.name} ${shape[field.fieldKind]}${optional}`;
  });
}

test("process.v1 has the published messages, names and numbers", () => {
  const ours = Object.fromEntries(file_process_v1_process.messages.map((message) => [message.name, fieldsOf(message)]));
  expect(ours).toEqual(WIRE);
  expect(SignalSchema.values.map(({ name, number }) => `${name} ${number}`)).toEqual([
    "SIGNAL_UNSPECIFIED 0",
    "SIGNAL_SIGINT 2",
    "SIGNAL_SIGKILL 9",
    "SIGNAL_SIGTERM 15",
  ]);
});

test("process.v1.ProcessService has the published methods", () => {
  expect(ProcessService.typeName).toBe("process.v1.ProcessService");
  expect(ProcessService.methods.map((method) => `${method.methodKind} ${method.name}`)).toEqual([
    "server_streaming Start",
    "unary Execute",
    "unary WriteStdin",
    "unary SendSignal",
    "unary ResizeTTY",
  ]);
});
