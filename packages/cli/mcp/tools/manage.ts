/** MCP tools that manage sandboxes: list, delete, suspend, resume, set the lifetime, explain. @module */
import * as z from "zod";
import type { Finding } from "../../../sdk/mod.ts";
import type { Scope } from "../scope.ts";
import { ADDS, defineTool, READS, REPLACES, SANDBOX, text, type Tool } from "../tool.ts";
import { lineOf, SEEN, shown } from "./seen.ts";

export const listSandboxes: Tool = defineTool({
  name: "list_sandboxes",
  title: "List sandboxes",
  description: "Lists the sandboxes that this session may use, with their state and when they will be deleted.",
  input: {},
  output: { sandboxes: z.array(z.object(SEEN)) },
  hints: READS,
  async run(_, { session, signal }) {
    const found = await session.list(signal);
    const none = "There are no sandboxes. create_sandbox makes one.";
    return {
      data: { sandboxes: found.map(shown) },
      content: [text(found.length === 0 ? none : found.map(lineOf).join("\n"))],
    };
  },
});

export const deleteSandbox: Tool = defineTool({
  name: "delete_sandbox",
  title: "Delete a sandbox",
  description: "Deletes a sandbox with all files in it and everything that runs in it. It cannot be undone.",
  input: { sandbox: SANDBOX },
  output: { deleted: z.boolean().describe("False: it was gone already") },
  hints: REPLACES,
  async run({ sandbox }, { session, signal }) {
    const deleted = await session.remove(sandbox, signal);
    return { data: { deleted }, content: [text(deleted ? `Deleted ${sandbox}.` : `There is no ${sandbox}.`)] };
  },
});

export const suspendSandbox: Tool = defineTool({
  name: "suspend_sandbox",
  title: "Suspend a sandbox",
  description:
    "Stops a sandbox and gives its resources back. What runs in it ends, and files that lie on no volume are " +
    "lost; name, lifetime and volumes stay. resume_sandbox, or the next use, starts it again.",
  input: { sandbox: SANDBOX },
  output: SEEN,
  hints: REPLACES,
  async run({ sandbox }, { session, signal }) {
    await session.manage(sandbox, signal, (client, options) => client.suspend(sandbox, options));
    const after = await session.look(sandbox, signal);
    return { data: shown(after), content: [text(lineOf(after))] };
  },
});

export const resumeSandbox: Tool = defineTool({
  name: "resume_sandbox",
  title: "Resume a sandbox",
  description: "Starts a suspended sandbox again and waits until it is Ready. One that runs stays as it is.",
  input: { sandbox: SANDBOX },
  output: SEEN,
  hints: { ...ADDS, idempotentHint: true },
  async run({ sandbox }, { session, signal, progress }) {
    const onProgress = ({ reason, message }: { reason: string; message: string }) => progress(`${reason}: ${message}`);
    await session.manage(sandbox, signal, (client, options) => client.resume(sandbox, { ...options, onProgress }));
    const after = await session.look(sandbox, signal);
    return { data: shown(after), content: [text(lineOf(after))] };
  },
});

/** Creates the tool that changes the lifetime of a sandbox. */
export function setLifetimeTool({ maxLifetimeMs }: Scope): Tool {
  return defineTool({
    name: "set_lifetime",
    title: "Set a sandbox's lifetime",
    description: "Says anew how long a sandbox lives, counted from now; then it is deleted with all it has.",
    input: { sandbox: SANDBOX, lifetimeMs: z.int().min(1000).max(maxLifetimeMs).describe("Milliseconds from now") },
    output: { expiresAt: z.string().describe("RFC 3339") },
    hints: REPLACES,
    async run({ sandbox, lifetimeMs }, { session, signal }) {
      const set = await session.manage(
        sandbox,
        signal,
        (client, options) => client.setTimeout(sandbox, lifetimeMs, options),
      );
      const expiresAt = set?.toISOString() ?? "";
      return { data: { expiresAt }, content: [text(`${sandbox} will be deleted at ${expiresAt}.`)] };
    },
  });
}

export const why: Tool = defineTool({
  name: "why",
  title: "Explain a sandbox's state",
  description: "Says why a sandbox is as it is (not Ready, failed, slow to start): root cause, evidence, what to do.",
  input: { sandbox: SANDBOX },
  output: {
    code: z.string().describe("The cause in one word"),
    isOk: z.boolean(),
    summary: z.string(),
    remedy: z.string(),
    hopeless: z.boolean().describe("Waiting alone cannot help"),
    since: z.string().optional(),
    evidence: z.array(z.object({ object: z.string(), where: z.string(), text: z.string() })),
  },
  hints: READS,
  async run({ sandbox }, { session, signal }) {
    const finding = await session.manage(sandbox, signal, (client, options) => client.why(sandbox, options));
    const { code, isOk, summary, remedy, hopeless, since } = finding;
    const evidence = evidenceOf(finding);
    const lines = [
      `${code}: ${summary}`,
      ...since === undefined ? [] : [`Since ${since}.`],
      ...evidence.map(({ object, where, text }) => `- ${object}, ${where}: ${text}`),
      ...isOk ? [] : [`What to do: ${remedy}`, hopeless ? "Waiting does not help." : "Waiting may help."],
    ];
    const data = { code, isOk, summary, remedy, hopeless, ...since === undefined ? {} : { since }, evidence };
    return { data, content: [text(lines.join("\n"))] };
  },
});

function evidenceOf({ evidence }: Finding) {
  return evidence.map(({ object, where, text }) => ({ object: `${object.kind} ${object.name}`, where, text }));
}
