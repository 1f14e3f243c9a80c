/** Server reflection, both versions, as grpcurl and grpcio ask. @module */
import { createFileRegistry, type DescService, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, createClient } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ServerReflection } from "../../../packages/runtime-api/gen/grpc/reflection/v1/reflection_pb.ts";
import { AlphaServerReflection } from "../../../packages/runtime/rpc/reflection.ts";
import { aServer } from "./serving.ts";

/** What is asked for, one after the other, on one stream. */
type Question = { case: "listServices" | "fileByFilename" | "fileContainingSymbol"; value: string };

async function ask(service: typeof ServerReflection, ...questions: Question[]) {
  const { transport } = await aServer();
  const client = createClient(service, transport);
  async function* requests() {
    for (const messageRequest of questions) yield { host: "here", messageRequest };
  }
  const answers = [];
  for await (const answer of client.serverReflectionInfo(requests())) answers.push(answer);
  return answers;
}

const filesIn = ({ messageResponse: { case: what, value } }: Awaited<ReturnType<typeof ask>>[number]) => {
  expect(what).toBe("fileDescriptorResponse");
  const { fileDescriptorProto } = value as { fileDescriptorProto: Uint8Array[] };
  return fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
};

describe.for([ServerReflection, AlphaServerReflection])("$typeName", (service) => {
  test("lists every service, itself too", async () => {
    const [answer] = await ask(service, { case: "listServices", value: "" });
    expect(answer).toMatchObject({ validHost: "here", originalRequest: { messageRequest: { case: "listServices" } } });
    const { service: listed } = answer?.messageResponse.value as { service: { name: string }[] };
    expect(listed.map(({ name }) => name).sort()).toEqual([
      "grpc.reflection.v1.ServerReflection",
      "grpc.reflection.v1alpha.ServerReflection",
      "hookbox.runtime.v1.ContextsService",
      "hookbox.runtime.v1.ProcessesService",
      "process.v1.ProcessService",
      "watcher.v1.FileWatcherService",
    ]);
  });

  test.for(["process.v1.ProcessService", "process.v1.ProcessService.Execute", "process.v1.ExecuteRequest"])(
    "gives the file of %s",
    async (symbol) => {
      const [answer] = await ask(service, { case: "fileContainingSymbol", value: symbol });
      const [file] = filesIn(answer!);
      expect(file?.name).toBe("process/v1/process.proto");
      expect(file?.service[0]?.method.map(({ name }) => name)).toContain("Execute");
    },
  );

  test("gives a file and what it imports, from which the service can be called", async () => {
    const name = "hookbox/runtime/v1/contexts.proto";
    const answers = await ask(service, ...[1, 2].map(() => ({ case: "fileByFilename" as const, value: name })));
    const [first, second] = answers.map(filesIn);
    expect(first?.map((file) => file.name)).toEqual([name, "google/protobuf/struct.proto"]);
    expect(second?.map((file) => file.name), "what the stream has had").toEqual([name]);
    const [wanted, ...imported] = first!;
    const registry = createFileRegistry(wanted!, (path) => imported.find((file) => file.name === path));
    const known = registry.getService("hookbox.runtime.v1.ContextsService") as DescService;
    expect(known.method["runCode"]?.output.fields.length).toBeGreaterThan(0);
  });

  test("says what it does not know, and goes on", async () => {
    const answers = await ask(
      service,
      { case: "fileContainingSymbol", value: "no.Such" },
      { case: "fileByFilename", value: "none.proto" },
      { case: "listServices", value: "" },
    );
    const error = { case: "errorResponse", value: { errorCode: Code.NotFound } };
    expect(answers.map(({ messageResponse }) => messageResponse)).toMatchObject([
      error,
      error,
      { case: "listServicesResponse" },
    ]);
  });
});
