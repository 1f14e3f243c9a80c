/** Signs a scoped token on the command line: `node packages/router/token.ts --secret-file F --namespace N --name S`. @module */
import process from "node:process";
import { parseArgs } from "node:util";
import { commandLine, exit } from "../process/serve.ts";
import { signToken } from "../api/router/scopedtoken.ts";
import { readSecrets } from "./access/scopedtoken.ts";
import { durationOf, wholeNumber } from "./options/flags.ts";

const HELP = `Usage: node packages/router/token.ts --secret-file F --name S [options]

Signs a token that opens one sandbox, for routers with --authz-mode scoped-token and the same secrets.

  --secret-file F    secrets of 32 bytes or more, one in each line; the first signs
  --namespace N      namespace of the Sandbox (default "default")
  --name S           name of the Sandbox
  --port P           only this port (default: all)
  --ttl D            how long it is good for (default 1h)
  --url U            print this address with the token in it, instead of the token
  --query-param Q    the router's --authz-cookie-query-param (default "token")
`;

const FLAGS = {
  "secret-file": { type: "string" },
  namespace: { type: "string", default: "default" },
  name: { type: "string" },
  port: { type: "string" },
  ttl: { type: "string", default: "1h" },
  url: { type: "string" },
  "query-param": { type: "string", default: "token" },
  help: { type: "boolean", default: false },
} as const;

async function run(args: string[]): Promise<string> {
  const { values } = parseArgs({ args, options: FLAGS });
  const { "secret-file": file, namespace: ns, name, port, ttl, url, "query-param": parameter, help } = values;
  if (help) return HELP;
  if (!file || !name) throw new RangeError("Cannot sign a token: --secret-file and --name are needed");
  const [secret] = readSecrets(file);
  const exp = Math.floor((Date.now() + durationOf("ttl", ttl)) / 1000);
  const limit = port === undefined ? {} : { port: wholeNumber("port", port, 1, 65535) };
  const token = await signToken(secret as Uint8Array<ArrayBuffer>, { ns, name, exp, ...limit });
  if (url === undefined) return `${token}\n`;
  const address = new URL(url);
  address.searchParams.set(parameter, token);
  return `${address}\n`;
}

try {
  process.stdout.write(await run(commandLine()));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  exit(1);
}
