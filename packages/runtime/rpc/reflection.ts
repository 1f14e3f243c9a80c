/** gRPC server reflection: describes the other services to tools such as grpcurl. @module */
import {
  createFileRegistry,
  type DescFile,
  type DescMessage,
  type DescService,
  fromJson,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import {
  ServerReflection,
  type ServerReflectionRequest,
} from "../../runtime-api/gen/grpc/reflection/v1/reflection_pb.ts";

/** The older version of the service, which many tools use. It differs only in its name. */
export const AlphaServerReflection = renamed(ServerReflection, "grpc.reflection.v1alpha");

type ReflectionAnswer =
  | ReturnType<typeof errorAnswer>
  | ReturnType<typeof filesAnswer>
  | ReturnType<typeof servicesAnswer>;

/** The reflection service. */
export interface Reflection {
  serverReflectionInfo(requests: AsyncIterable<ServerReflectionRequest>): AsyncIterable<{
    validHost: string;
    originalRequest: ServerReflectionRequest;
    messageResponse: ReflectionAnswer;
  }>;
}

/** Creates the service. It describes `services`, with their files and imports. */
export function createReflection(services: readonly DescService[]): Reflection {
  const files = new Map<string, DescFile>();
  for (const { file } of services) collect(file, files);
  const symbols = new Map([...files.values()].flatMap((file) => symbolsOf(file).map((name) => [name, file] as const)));
  return {
    async *serverReflectionInfo(requests) {
      // Each file is sent only once per stream.
      const sent = new Set<string>();
      for await (const request of requests) {
        yield { validHost: request.host, originalRequest: request, messageResponse: answerTo(request) };
      }

      function answerTo({ messageRequest: { case: what, value } }: ServerReflectionRequest): ReflectionAnswer {
        if (what === "listServices") return servicesAnswer(services);
        if (what === "fileByFilename") return fileNamed(files.get(value), value);
        if (what === "fileContainingSymbol") return fileNamed(symbols.get(value), value);
        return what === undefined
          ? errorAnswer(Code.InvalidArgument, "Cannot answer: the request asks for nothing")
          : errorAnswer(Code.NotFound, "Cannot find extensions: there are none");
      }

      function fileNamed(file: DescFile | undefined, name: string): ReflectionAnswer {
        return file
          ? filesAnswer(file, sent)
          : errorAnswer(Code.NotFound, `Cannot find "${name}": no service needs it`);
      }
    },
  };
}

/** Describes a service and its messages under another package name. */
function renamed<T extends DescService>(service: T, into: string): T {
  const { proto } = service.file;
  const json = JSON.stringify(toJson(FileDescriptorProtoSchema, proto))
    .replaceAll(proto.package, into)
    .replaceAll(proto.package.replaceAll(".", "/"), into.replaceAll(".", "/"));
  const file = fromJson(FileDescriptorProtoSchema, JSON.parse(json));
  const found = createFileRegistry(file, () => undefined).getService(`${into}.${service.name}`);
  if (!found) throw new TypeError(`Cannot describe ${service.typeName} in ${into}: it is not there`);
  // The same methods and messages under other names, so the types of one fit the other.
  return found as T;
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

function servicesAnswer(services: readonly DescService[]) {
  const service = services.map(({ typeName: name }) => ({ name }));
  return { case: "listServicesResponse" as const, value: { service } };
}

/** The requested file first, then its imports that this stream has not received yet. */
function filesAnswer(file: DescFile, sent: Set<string>) {
  const all = new Map<string, DescFile>();
  collect(file, all);
  const wanted = [...all].filter(([name]) => name === file.proto.name || !sent.has(name));
  for (const [name] of wanted) sent.add(name);
  const fileDescriptorProto = wanted.map(([, { proto }]) => toBinary(FileDescriptorProtoSchema, proto));
  return { case: "fileDescriptorResponse" as const, value: { fileDescriptorProto } };
}

function errorAnswer(errorCode: Code, errorMessage: string) {
  return { case: "errorResponse" as const, value: { errorCode, errorMessage } };
}
