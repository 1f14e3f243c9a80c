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
  const named = new Set(PAGE.replaceAll(/^claude mcp add .*? hookbox /gm, "").match(/--[a-z][a-z-]+/g));
  expect([...named].filter((flag) => !options.includes(flag))).toEqual([]);
  const cluster = ["--namespace", "--kubeconfig", "--token"];
  expect(options.filter((long) => !cluster.includes(long ?? "") && !named.has(long ?? ""))).toEqual([]);
});

/** Returns the configurations for agents, by the key that each agent uses. */
function configurations(): { key: string; server: Record<string, unknown> }[] {
  return [...PAGE.matchAll(/```json\n([^`]+)```/g)].map(([, text = ""]) => {
    const { inputs: _, ...config } = JSON.parse(text);
    const [[key = "", servers] = []] = Object.entries<{ hookbox: Record<string, unknown> }>(config);
    return { key, server: servers!.hookbox };
  });
}

/** Parses a command line of `hookbox mcp`. */
function parsed(words: string[]): Record<string, unknown> {
  expect(words[0]).toBe("mcp");
  return mcpCommand().exitOverride().action(() => {}).parse(words.slice(1), { from: "user" }).opts();
}

const OPTIONS = { pool: ["python"], context: "staging", namespace: "agents" };

test("the configurations for agents are JSON with the agents' keys, and their command lines are understood", () => {
  expect(configurations().map(({ key, server: { type, command } }) => [key, type, command])).toEqual([
    ["mcpServers", undefined, "hookbox"],
    ["servers", "stdio", "hookbox"],
    ["mcpServers", undefined, undefined],
    ["servers", "http", undefined],
  ]);
  for (const { server: { args, url, headers } } of configurations()) {
    if (args) expect(parsed(args as string[])).toEqual(OPTIONS);
    else expect({ url, headers }).toMatchObject({ headers: { Authorization: expect.stringMatching(/^Bearer \$\{/) } });
  }
});

test("the commands for agents start the same server, and the address is the one that the server listens on", () => {
  const [stdio = "", serve = "", http = ""] = PAGE.match(/^(claude|hookbox) mcp .*$/gm) ?? [];
  expect(stdio).toMatch(/^claude mcp add --transport stdio hookbox -- hookbox mcp /);
  expect(parsed(stdio.split(" -- hookbox ")[1]!.split(" "))).toEqual(OPTIONS);
  const { http: address } = parsed(serve.split(" ").slice(1));
  const url = `http://${address}/mcp`;
  expect(http).toBe(`claude mcp add --transport http --header "Authorization: Bearer THE-TOKEN" hookbox ${url}`);
  expect(configurations().flatMap(({ server }) => server["url"] ?? [])).toEqual([url, url]);
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

test("commands and code end before clients give up, as the page says", () => {
  const limits = TOOLS.flatMap(({ input: { timeoutMs } }) =>
    timeoutMs ? [(timeoutMs as z.ZodType).parse(undefined)] : []
  );
  expect(limits).toEqual([50_000, 50_000]);
  expect(PAGE).toContain("commands and code may take 50 s by default");
});
