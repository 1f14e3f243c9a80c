/** Counts what a message consists of before anybody decodes it: two bytes become an object of a hundred. Pure. @module */
import type { DescMessage } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { ContextsService } from "../../runtime-api/gen/hookbox/runtime/v1/contexts_pb.ts";
import { ProcessesService } from "../../runtime-api/gen/hookbox/runtime/v1/processes_pb.ts";
import { ProcessService } from "../../runtime-api/gen/process/v1/process_pb.ts";

const METHODS = [ContextsService, ProcessesService, ProcessService].flatMap(({ typeName, methods }) =>
  methods.map(({ name, output }) => [`/${typeName}/${name}`, output] as const)
);
const OUTPUTS = new Map<string, DescMessage>(METHODS);

/** Returns the message that a service of the runtime answers with at a path; undefined: there is no such method. */
export function outputAt(path: string): DescMessage | undefined {
  return OUTPUTS.get(path);
}

/** Messages within a message, by the numbers of their fields. */
type Shape = Map<number, Shape>;

/**
 * Tells whether a message has so many fields at most, those of messages within it and unknown ones counted. What is no
 * message its decoder will say.
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
  // Before its fields are looked at: a message may hold its like.
  shapes.set(schema, shape);
  for (const { fieldKind, number, message } of schema.fields) {
    // An entry of a map is a message of its key, 1, and its value, 2.
    if (fieldKind === "map") shape.set(number, new Map(message ? [[2, shapeOf(message)]] : []));
    else if (message) shape.set(number, shapeOf(message));
  }
  return shape;
}
