/** The bodies of requests, as E2B's SDKs send them. What hookbox does not serve is refused by name. @module */
import { Buffer } from "node:buffer";
import * as z from "zod";
import { networkSchema } from "./network.ts";
import { Problem } from "./problem.ts";

/** Longest life of a sandbox, in seconds: that of E2B's largest plan. */
export const LONGEST_S = 24 * 60 * 60;
/** Largest metadata or variables, in bytes as JSON. Kubernetes stores 256 KiB of annotations for an object. */
const MOST_BYTES = 64 * 1024;

const seconds = z.number().int();
const texts = z.record(z.string(), z.string()).refine((map) => Buffer.byteLength(JSON.stringify(map)) <= MOST_BYTES, {
  message: `is larger than ${MOST_BYTES / 1024} KiB`,
});
const variables = texts.refine((map) => Object.keys(map).every((name) => /^[-._a-zA-Z][-._a-zA-Z0-9]*$/.test(name)), {
  message: "has a name that is not a name of a variable",
}).refine((map) => Object.values(map).every((value) => !value.includes("\0")), {
  // No process can have it: runtimes refuse it, and members of the pool would be discarded.
  message: "has a value with a NUL byte",
});

/** Body of a creation. */
export const createSchema = z.strictObject({
  templateID: z.string().min(1),
  timeout: seconds.positive("must be above 0").max(LONGEST_S, `must be at most ${LONGEST_S} s`).nullish(),
  metadata: texts.nullish(),
  envVars: variables.nullish(),
  secure: z.boolean().nullish(),
  allow_internet_access: z.boolean().nullish(),
  network: networkSchema.nullish(),
  autoPause: z.boolean().nullish(),
  autoPauseMemory: z.boolean().nullish(),
  autoResume: z.strictObject({ enabled: z.boolean().nullish() }).nullish(),
  volumeMounts: z.array(z.unknown()).max(0, "is not supported: put volumes into the template").nullish(),
  mcp: z.null({ error: "is not supported: hookbox has its own MCP server" }).optional(),
  iam: z.null({ error: "is not supported" }).optional(),
}).superRefine(({ autoPause, autoPauseMemory, autoResume }, context) => {
  // E2B's rules, as traffic does not resume what has no memory.
  const refuse = (message: string) => context.addIssue({ code: "custom", path: ["autoPauseMemory"], message });
  if (autoPauseMemory !== false) return;
  if (autoPause !== true) refuse("needs autoPause");
  if (autoResume?.enabled) refuse("cannot be false together with autoResume");
});
export type CreateRequest = z.infer<typeof createSchema>;

/** Body of `connect`. */
export const connectSchema = z.strictObject({
  timeout: seconds.nonnegative().nullish(),
  memory: z.boolean().nullish(),
});
/** Body of `resume`. Clients of its time repeat whether the sandbox pauses at its end, which its creation decides. */
export const resumeSchema = connectSchema.extend({ autoPause: z.boolean().nullish() });
/** Body of `timeout`. */
export const timeoutSchema = z.strictObject({ timeout: seconds });
/** Body of `refreshes`. */
export const refreshSchema = z.strictObject({ duration: seconds.nullish() });
/** Body of `pause`. */
export const pauseSchema = z.strictObject({
  memory: z.boolean().nullish(),
  requireHealthyGuest: z.boolean().nullish(),
});

/**
 * Reads a body. An empty one counts as `{}`.
 *
 * @throws {Problem} 400 with the fields that are wrong
 */
export function parseBody<T>(schema: z.ZodType<T>, text: string): T {
  let body: unknown;
  try {
    body = text === "" ? {} : JSON.parse(text);
  } catch {
    throw new Problem(400, "Body is not JSON");
  }
  const { data, error } = schema.safeParse(body, { error: plainly });
  if (data !== undefined) return data;
  const faults = error?.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => `${[...issue.path, key].join(".")} is not supported`)
      : [issue.path.length === 0 ? issue.message : `${issue.path.join(".")} ${issue.message}`]
  );
  throw new Problem(400, `Request is not valid: ${faults?.join("; ")}`);
}

/** What JSON calls the types. */
const TYPES: Record<string, string> = { int: "integer", record: "object", array: "list" };

/** Says what is wrong with a value; undefined: Zod says it. */
function plainly(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== "invalid_type") return undefined;
  if (issue.input === undefined) return "is missing";
  const type = TYPES[issue.expected] ?? issue.expected;
  return `must be ${/^[aeiou]/.test(type) ? "an" : "a"} ${type}`;
}

/** Which sandboxes to list. */
export interface ListQuery {
  metadata: Record<string, string>;
  states: ReadonlySet<"running" | "paused">;
  startedAfter: number | undefined;
  template: string | undefined;
  order: "asc" | "desc";
  limit: number;
  after: Cursor | undefined;
}

/** The last sandbox of a page. */
interface Cursor {
  order: "asc" | "desc";
  startedAt: string;
  id: string;
}

const cursorSchema = z.tuple([z.enum(["asc", "desc"]), z.string(), z.string()]);
const MOST_LISTED = 100;

/** Reads the query of a list. @throws {Problem} 400 if a parameter is invalid */
export function listQuery(query: URLSearchParams): ListQuery {
  const states = (query.get("state") || "running,paused").split(",");
  if (!states.every((state) => state === "running" || state === "paused")) {
    throw new Problem(400, "Parameter state is not valid: running, paused, or both with a comma");
  }
  const order = query.get("order") || "desc";
  if (order !== "asc" && order !== "desc") throw new Problem(400, "Parameter order is not valid: asc or desc");
  const limit = Number(query.get("limit") || MOST_LISTED);
  if (!Number.isInteger(limit) || limit < 1) throw new Problem(400, "Parameter limit is not valid: 1 to 100");
  const template = query.get("template") || undefined;
  if (template?.includes(":")) throw new Problem(400, "Parameter template is not valid: a tag is not allowed");
  const after = query.get("nextToken") ? cursorOf(query.get("nextToken") as string) : undefined;
  if (after && after.order !== order) throw new Problem(400, "Parameter nextToken is of a list in another order");
  return {
    metadata: metadataQuery(query.get("metadata") ?? ""),
    states: new Set(states as ("running" | "paused")[]),
    startedAfter: instant(query.get("startedAfter")),
    template,
    order,
    limit: Math.min(limit, MOST_LISTED),
    after,
  };
}

/** The SDKs encode each key and value, then the pairs as a form, then the form as a parameter. */
function metadataQuery(form: string): Record<string, string> {
  try {
    return Object.fromEntries([...new URLSearchParams(form)].map((pair) => pair.map(decodeURIComponent)));
  } catch {
    throw new Problem(400, "Parameter metadata is not valid: it has an incomplete percent-encoding");
  }
}

function instant(text: string | null): number | undefined {
  if (!text) return undefined;
  const at = Date.parse(text);
  if (Number.isNaN(at)) throw new Problem(400, "Parameter startedAfter is not valid: a time of RFC 3339 is needed");
  return at;
}

/** Returns the `nextToken` of the page after this sandbox. */
export function tokenOfPage({ order, startedAt, id }: Cursor): string {
  return Buffer.from(JSON.stringify([order, startedAt, id])).toString("base64url");
}

function cursorOf(token: string): Cursor {
  try {
    const [order, startedAt, id] = cursorSchema.parse(JSON.parse(Buffer.from(token, "base64url").toString()));
    return { order, startedAt, id };
  } catch {
    throw new Problem(400, "Parameter nextToken is not valid: take it from the header X-Next-Token");
  }
}
