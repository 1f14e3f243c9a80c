/** docs/mcp.md says what the code does. @module */
import { readFileSync } from "node:fs";
import { Command } from "commander";
import { expect, test } from "vitest";
import type * as z from "zod";
import { defineMcp } from "../../../packages/cli/commands/mcp.ts";
import { DEFAULT_SCOPE } from "./scope.ts";
import type { Tool } from "../../../packages/cli/mcp/tool.ts";
import { allTools } from "../../../packages/cli/mcp/server.ts";
import { fakeContext } from "../fakecontext.ts";

const PAGE = readFileSync(new URL("../../../docs/mcp.md", import.meta.url), "utf8");
const TOOLS = allTools({ ...DEFAULT_SCOPE, localRoot: "DIR", allowImages: true });

/** Optional parameters end with a question mark. */
function parametersOf({ input }: Tool): string {
  const names = Object.entries(input).map(([name, schema]) =>
    (schema as z.ZodType).safeParse(undefined).success ? `${name}?` : name
  );
  return names.map((name) => `\`${name}\``).join(", ");
}

function effectOf({ hints }: Tool): string {
  if (hints.readOnlyHint) return "reads";
  if (hints.openWorldHint) return "runs";
  return hints.destructiveHint ? "replaces" : "adds";
}

test("the table of tools is that of the code", () => {
  const rows = PAGE.split("\n").filter((line) => /^\| `[a-z_]+` /.test(line)).map((line) =>
    line.split("|").slice(1, -1).map((cell) => cell.trim())
  );
  expect(rows).toEqual(TOOLS.map((tool) => [`\`${tool.name}\``, tool.title, parametersOf(tool), effectOf(tool)]));
});

function mcpCommand(): Command {
  const command = new Command("mcp");
  defineMcp(command, fakeContext().context);
  return command;
}

test("every option that the page names is one of the command, and the other way round", () => {
  const options = mcpCommand().options.map(({ long }) => long);
  const named = new Set(PAGE.match(/--[a-z][a-z-]+/g));
  expect([...named].filter((flag) => !options.includes(flag))).toEqual([]);
  const cluster = ["--namespace", "--kubeconfig", "--token"];
  expect(options.filter((long) => !cluster.includes(long ?? "") && !named.has(long ?? ""))).toEqual([]);
});

test("the snippets for agents are JSON, and their command lines are understood", () => {
  const snippets = [...PAGE.matchAll(/```json\n([^`]+)```/g)].map(([, text = ""]) =>
    JSON.parse(text).mcpServers.hookbox
  );
  expect(snippets).toHaveLength(2);
  const command = mcpCommand().exitOverride().action(() => {});
  command.parse(snippets[0].args.slice(1), { from: "user" });
  expect(command.opts()).toEqual({ pool: ["python"], context: "staging", namespace: "agents" });
});

test("tools say of themselves what clients go by", () => {
  for (const { name, description, hints, input } of TOOLS) {
    expect(name).toMatch(/^[a-z]+(_[a-z]+)?$/);
    expect(description.length).toBeGreaterThan(60);
    expect(hints.readOnlyHint && hints.destructiveHint).toBe(false);
    const undescribed = Object.entries(input).filter(([, schema]) => !(schema as z.ZodType).description);
    expect(
      undescribed.map(([key]) => key).filter((key) => !["code", "maxBytes", "depth", "content", "port"].includes(key)),
    )
      .toEqual([]);
  }
});
