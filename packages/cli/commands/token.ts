/** `hookbox token`: a token that opens one sandbox, for routers that check scoped tokens. Asks no cluster. @module */
import { Command } from "commander";
import { optionsOf } from "../clusteroptions.ts";
import type { CommandContext } from "../commandcontext.ts";
import { readingFile } from "../files.ts";
import { durationMs, wholeNumber } from "../values.ts";

const MORE = `
For routers with --authz-mode scoped-token and the same secret. "hookbox url --signed-for" puts one into an address.

Example:
  hookbox token demo -n team-a --secret-file secret --port 3000 --ttl 8h`;

interface Options {
  secretFile: string;
  port?: string;
  ttl: string;
}

export function tokenCommand({ stdout }: CommandContext): Command {
  const command = new Command("token")
    .description("Sign a token that opens one sandbox")
    .argument("<sandbox>", "name of the Sandbox, not of its claim")
    .requiredOption("--secret-file <file>", "secrets of 32 bytes or more, one in each line; the first signs")
    .option("--port <port>", "only this port (default: all)")
    .option("--ttl <time>", "how long it is valid", "1h")
    .option("-n, --namespace <name>", 'namespace of the Sandbox (default: "default")')
    .addHelpText("after", MORE)
    .action(async (name: string) => {
      const { secretFile, port, ttl, namespace: ns = "default" } = optionsOf<Options>(command);
      const exp = Math.floor((Date.now() + durationMs("--ttl", ttl)) / 1000);
      const limit = port === undefined ? {} : { port: wholeNumber("--port", port, 1, 65535) };
      const { readSecrets } = await import("../../router/access/scopedtoken.ts");
      const { signToken } = await import("../../api/router/scopedtoken.ts");
      const [secret] = await readingFile(secretFile, () => readSecrets(secretFile));
      stdout.write(`${await signToken(secret as Uint8Array<ArrayBuffer>, { ns, name, exp, ...limit })}\n`);
    });
  return command;
}
