// deno-lint-ignore-file no-console -- programs print
/**
 * An agent with sandboxes as its tools, over the Model Context Protocol. A script plays the model: it chooses the next
 * call from the results so far. Needs the pool of python.yaml, and the command `hookbox`.
 */
import process from "node:process";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

interface Call {
  name: string;
  arguments: Record<string, unknown>;
}

/** Plays the model: returns the next call, or the answer to the user. */
function think(results: string[]): Call | string {
  const sandbox = "primes";
  switch (results.length) {
    case 0:
      return { name: "create_sandbox", arguments: { name: sandbox } };
    case 1:
      return { name: "write_file", arguments: { sandbox, path: "primes.py", content: PROGRAM } };
    case 2:
      return { name: "execute_command", arguments: { sandbox, command: "python3 primes.py 100" } };
    default:
      return `There are ${/stdout\n(\d+)/.exec(results[2] ?? "")?.[1]} primes below 100.`;
  }
}

const PROGRAM = `import sys
print(sum(all(n % d for d in range(2, n)) for n in range(2, int(sys.argv[1]))))
`;

const env = { ...process.env } as Record<string, string>;
const transport = new StdioClientTransport({ command: "hookbox", args: ["mcp", "--pool", "python"], env });
const client = new Client({ name: "agent", version: "1" });
await client.connect(transport);
const results: string[] = [];
for (;;) {
  const thought = think(results);
  if (typeof thought === "string") {
    console.log(thought);
    break;
  }
  const { content } = await client.callTool(thought) as { content: { text?: string }[] };
  results.push(content.map(({ text = "" }) => text).join("\n"));
}
// When the client disconnects, `hookbox mcp` deletes the sandboxes.
await client.close();
