/** gRPC server reflection: tells tools such as grpcurl what the other services are. Runs nothing. @module */
import { type DescFile, type DescMessage, type DescService, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import type { ServerReflectionRequest } from "../gen/grpc/reflection/v1/reflection_pb.ts";
import type { ServerReflectionRequest as AlphaRequest } from "../gen/grpc/reflection/v1alpha/reflection_pb.ts";

type Request = ServerReflectionRequest | AlphaRequest;
type Outcome = ReturnType<typeof noSuch> | ReturnType<typeof filesOf> | ReturnType<typeof servicesOf>;

/** What a stream is answered with; both versions of the service have the same messages. */
export interface Reflection {
  serverReflectionInfo<T extends Request>(requests: AsyncIterable<T>): AsyncIterable<{
    validHost: string;
    originalRequest: T;
    messageResponse: Outcome;
  }>;
}

/** Makes the service over other services, with their files and all that these import. */
export function createReflection(services: readonly DescService[]): Reflection {
  const files = new Map<string, DescFile>();
  for (const { file } of services) collect(file, files);
  const symbols = new Map([...files.values()].flatMap((file) => symbolsOf(file).map((name) => [name, file] as const)));
  return {
    async *serverReflectionInfo(requests) {
      // A file goes over each stream once.
      const sent = new Set<string>();
      for await (const request of requests) {
        yield { validHost: request.host, originalRequest: request, messageResponse: answerTo(request) };
      }

      function answerTo({ messageRequest: { case: what, value } }: Request): Outcome {
        if (what === "listServices") return servicesOf(services);
        if (what === "fileByFilename") return fileNamed(files.get(value), value);
        if (what === "fileContainingSymbol") return fileNamed(symbols.get(value), value);
        return what === undefined
          ? noSuch(Code.InvalidArgument, "Cannot answer: the request asks for nothing")
          : noSuch(Code.NotFound, "Cannot find extensions: there are none");
      }

      function fileNamed(file: DescFile | undefined, name: string): Outcome {
        return file ? filesOf(file, sent) : noSuch(Code.NotFound, `Cannot find "${name}": no service needs it`);
      }
    },
  };
}

function collect(file: DescFile, into: Map<string, DescFile>): void {
  const name = file.proto.name;
  if (into.has(name)) return;
  into.set(name, file);
  for (const dependency of file.dependencies) collect(dependency, into);
}

function symbolsOf({ messages, enums, services }: DescFile): string[] {
  const below = (message: DescMessage): string[] => [
    message.typeName,
    ...message.nestedEnums.map(({ typeName }) => typeName),
    ...message.nestedMessages.flatMap(below),
  ];
  return [
    ...messages.flatMap(below),
    ...enums.map(({ typeName }) => typeName),
    ...services.flatMap(({ typeName, methods }) => [typeName, ...methods.map(({ name }) => `${typeName}.${name}`)]),
  ];
}

function servicesOf(services: readonly DescService[]) {
  const service = services.map(({ typeName: name }) => ({ name }));
  return { case: "listServicesResponse" as const, value: { service } };
}

/** The file first, then what it imports and the stream has not had yet. */
function filesOf(file: DescFile, sent: Set<string>) {
  const all = new Map<string, DescFile>();
  collect(file, all);
  const wanted = [...all].filter(([name]) => name === file.proto.name || !sent.has(name));
  for (const [name] of wanted) sent.add(name);
  const fileDescriptorProto = wanted.map(([, { proto }]) => toBinary(FileDescriptorProtoSchema, proto));
  return { case: "fileDescriptorResponse" as const, value: { fileDescriptorProto } };
}

function noSuch(errorCode: Code, errorMessage: string) {
  return { case: "errorResponse" as const, value: { errorCode, errorMessage } };
}
