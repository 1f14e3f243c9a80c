/** Counts the fields of a Protobuf message before it is decoded, to limit its size in memory. @module */
import type { DescMessage } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { ContextsService } from "../../runtime-api/gen/hookbox/runtime/v1/contexts_pb.ts";
import { ProcessesService } from "../../runtime-api/gen/hookbox/runtime/v1/processes_pb.ts";
import { ProcessService } from "../../runtime-api/gen/process/v1/process_pb.ts";

const METHODS = [ContextsService, ProcessesService, ProcessService].flatMap(({ typeName, methods }) =>
  methods.map(({ name, output }) => [`/${typeName}/${name}`, output] as const)
);
const OUTPUTS = new Map<string, DescMessage>(METHODS);

/** Returns the schema of a method's response by the method's path; undefined if there is no such method. */
export function outputAt(path: string): DescMessage | undefined {
  return OUTPUTS.get(path);
}

/** The fields of a message that are messages themselves, by field number. */
type Shape = Map<number, Shape>;

/**
 * Returns whether a message has at most this many fields, including unknown fields and those of nested messages. For
 * invalid data it returns true: the decoder will report it.
 */
export function fieldsUpTo(schema: DescMessage, bytes: Uint8Array, most: number): boolean {
  const reader = new BinaryReader(bytes);
  let left = most;
  const walk = (shape: Shape, end: number): boolean => {
    while (reader.pos < end) {
      if (left-- === 0) return false;
      const [number, wireType] = reader.tag();
      const inner = wireType === WireType.LengthDelimited ? shape.get(number) : undefined;
      if (!inner) reader.skip(wireType, number);
      else if (!walk(inner, reader.uint32() + reader.pos)) return false;
    }
    return true;
  };
  try {
    return walk(shapeOf(schema), bytes.length);
  } catch {
    return true;
  }
}

const shapes = new Map<DescMessage, Shape>();

function shapeOf(schema: DescMessage): Shape {
  const known = shapes.get(schema);
  if (known) return known;
  const shape: Shape = new Map();
  // Set before the fields are read, because a message type may contain itself.
  shapes.set(schema, shape);
  for (const { fieldKind, number, message } of schema.fields) {
    // An entry of a map is a message with the fields 1 (key) and 2 (value).
    if (fieldKind === "map") shape.set(number, new Map(message ? [[2, shapeOf(message)]] : []));
    else if (message) shape.set(number, shapeOf(message));
  }
  return shape;
}
