/** The MCP tool that returns the URL of a port of a sandbox. @module */
import * as z from "zod";
import { defineTool, READS, SANDBOX, text, type Tool } from "../tool.ts";

export const getURL: Tool = defineTool({
  name: "get_url",
  title: "Get the URL of a port",
  description:
    "Returns the address at which a program that listens in a sandbox is reached from outside, such as a web " +
    "server of start_command. With signedForMs, anyone with the address can use it without a token, for that long.",
  input: {
    sandbox: SANDBOX,
    port: z.int().min(1).max(65_535),
    signedForMs: z.int().min(1000).max(604_800_000).optional().describe("Needs a router and its signing secret"),
  },
  output: { url: z.string() },
  hints: { ...READS, idempotentHint: false },
  async run({ sandbox, port, signedForMs }, { session, signal }) {
    const handle = await session.open(sandbox, signal);
    const url = await handle.getUrl(port, { signedForMs, signal });
    return { data: { url }, content: [text(url)] };
  },
});
