/** The MCP tool that creates sandboxes. @module */
import * as z from "zod";
import { AuthorizationError, InvalidArgumentError } from "../../../sdk/errors.ts";
import type { CreateOptions } from "../../../sdk/options.ts";
import type { Scope } from "../scope.ts";
import { ADDS, defineTool, text, type Tool } from "../tool.ts";
import { lineOf, SEEN, shown } from "./seen.ts";

/** Creates the tool. Its parameters depend on the limits of sessions. */
export function createSandboxTool(scope: Scope): Tool {
  return defineTool({
    name: "create_sandbox",
    title: "Create a sandbox",
    description:
      "Makes an isolated sandbox to run commands and code and to keep files in, and waits until it is Ready. " +
      `It is deleted after ${minutes(scope.lifetimeMs)} unless lifetimeMs says otherwise` +
      `${scope.deleteOnExit ? ", and when this session ends" : ""}. ` +
      "Reuse one sandbox for related work; delete it with delete_sandbox when you are done.",
    input: {
      ...sourcesOf(scope),
      name: z.string().optional().describe("Up to 63 lower-case letters, digits and dashes. Default: made up"),
      env: z.record(z.string(), z.string()).optional()
        .describe("Environment of its commands. Makes the start slower, and the template must allow it"),
      lifetimeMs: z.int().min(1000).max(scope.maxLifetimeMs).default(scope.lifetimeMs)
        .describe("How long it lives, in milliseconds from now"),
    },
    output: SEEN,
    hints: ADDS,
    async run({ name, env, lifetimeMs, ...named }, { session, signal, progress }) {
      const source = await chooseSource(scope, named as Source, signal);
      const options: CreateOptions = {
        ...source,
        ...name === undefined ? {} : { name },
        ...env === undefined ? {} : { env },
        timeoutMs: lifetimeMs,
        onProgress: ({ reason, message }) => progress([reason, message].filter(Boolean).join(": ") || "Starting"),
      };
      const made = await session.look((await session.create(options, signal)).name, signal);
      return { data: shown(made), content: [text(`Created ${lineOf(made)}.`)] };
    },
  });
}

interface Source {
  pool?: string;
  template?: string;
  image?: string;
}

function sourcesOf({ pools, allowImages }: Scope) {
  const [first] = pools;
  const image = z.string().optional().describe("A container image to start, which must have hookbox's runtime in it");
  if (first !== undefined) {
    const pool = z.enum(pools).optional().describe(`Pool to take it from. Default: ${first}`);
    return allowImages ? { pool, image } : { pool };
  }
  const open = {
    pool: z.string().optional().describe("Pool to take it from. May be left out where there is but one"),
    template: z.string().optional().describe("SandboxTemplate to start it from, in place of a pool"),
  };
  return allowImages ? { ...open, image } : open;
}

/** Chooses the default if the agent names no source. The schema has already refused sources that are not allowed. */
async function chooseSource(scope: Scope, { pool, template, image }: Source, signal: AbortSignal): Promise<Source> {
  if (template !== undefined || image !== undefined) {
    // If the agent names two sources, the SDK reports the error.
    return { ...pool && { pool }, ...template && { template }, ...image && { image } };
  }
  if (pool !== undefined) return { pool };
  const [first] = scope.pools;
  if (first !== undefined) return { pool: first };
  const found = await scope.findPools(signal);
  const [only, second] = found;
  if (only === undefined) {
    throw new AuthorizationError("Cannot create a sandbox: there is no pool to take it from", {
      remedy: "Name a template, or ask the operator for a SandboxWarmPool.",
    });
  }
  if (second === undefined) return { pool: only };
  throw new InvalidArgumentError("Cannot create a sandbox: there are several pools, and none is named", {
    remedy: `Name one: ${found.join(", ")}.`,
  });
}

function minutes(ms: number): string {
  return ms < 60_000 ? `${ms / 1000} s` : `${Math.round(ms / 60_000)} minutes`;
}
