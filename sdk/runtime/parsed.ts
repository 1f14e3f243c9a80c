/** Reads what the runtime answers: whatever runs in a sandbox may answer in its place. @module */
import type * as z from "zod";
import { type ObjectRef, SandboxError } from "../errors.ts";

/** Reads the body of an answer as JSON of that shape. @throws {SandboxError} INTERNAL if it has another */
export async function parsed<T>(
  schema: z.ZodType<T>,
  answer: Response,
  action: string,
  object: ObjectRef,
): Promise<T> {
  const { data } = schema.safeParse(await answer.json().catch(() => undefined));
  if (data !== undefined) return data;
  throw new SandboxError(`Cannot ${action}: the answer is not from hookbox's runtime`, { object });
}
