/** Validates request bodies of port 8888, with the same error responses as FastAPI. @module */
import type { ExecuteRequest } from "./execute.ts";

/** One error in a body. */
interface Issue {
  type: string;
  /** Path of the field, starting with `body`. */
  loc: (string | number)[];
  msg: string;
  input: unknown;
  ctx?: Record<string, unknown>;
}

/** The body of a 422 response. */
export interface Invalid {
  detail: Issue[];
}

/** Reads the body of `POST /execute`. Unknown fields are ignored. */
export function parseExecute(text: string): ExecuteRequest | Invalid {
  if (text.trim() === "") return invalid("missing", ["body"], "Field required", null);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    const at = Number(/position (\d+)/.exec(error instanceof Error ? error.message : "")?.[1] ?? 0);
    return {
      detail: [{ ...issue("json_invalid", ["body", at], "JSON decode error", {}), ctx: { error: "Invalid JSON" } }],
    };
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    const message = "Input should be a valid dictionary or object to extract fields from";
    return invalid("model_attributes_type", ["body"], message, body);
  }
  const { command, timeout_seconds } = body as Record<string, unknown>;
  const issues = [...commandIssues(command, body), ...timeoutIssues(timeout_seconds)];
  if (issues.length > 0) return { detail: issues };
  return {
    command: command as string,
    timeout_seconds: timeout_seconds === undefined || timeout_seconds === null ? undefined : Number(timeout_seconds),
  };
}

/** Returns the 422 body for a form without the field. */
export function missingField(name: string): Invalid {
  return invalid("missing", ["body", name], "Field required", null);
}

function commandIssues(command: unknown, body: unknown): Issue[] {
  if (command === undefined) return [issue("missing", ["body", "command"], "Field required", body)];
  if (typeof command === "string") return [];
  return [issue("string_type", ["body", "command"], "Input should be a valid string", command)];
}

/** Accepts numbers as text, as pydantic does. */
function timeoutIssues(value: unknown): Issue[] {
  if (value === undefined || value === null) return [];
  const loc = ["body", "timeout_seconds"];
  if (typeof value !== "number" && typeof value !== "string") {
    return [issue("float_type", loc, "Input should be a valid number", value)];
  }
  const seconds = value === "" ? NaN : Number(value);
  if (Number.isNaN(seconds)) {
    return [issue("float_parsing", loc, "Input should be a valid number, unable to parse string as a number", value)];
  }
  if (seconds > 0) return [];
  return [{ ...issue("greater_than", loc, "Input should be greater than 0", value), ctx: { gt: 0 } }];
}

function issue(type: string, loc: (string | number)[], msg: string, input: unknown): Issue {
  return { type, loc, msg, input };
}

function invalid(type: string, loc: (string | number)[], msg: string, input: unknown): Invalid {
  return { detail: [issue(type, loc, msg, input)] };
}
