/** `hookbox token`: creates a token for one sandbox, for routers that check scoped tokens. @module */
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { readSigningKey, signSandboxToken, signToken, type TokenClaims } from "../../api/router/scopedtoken.ts";
import { readSecrets } from "../../process/secretfile.ts";
import type { CommandContext } from "../commandcontext.ts";
import { UsageError } from "../failure.ts";
import { durationMs, optionsOf, readingFile, wholeNumber } from "../options.ts";

const MORE = `
For routers with --authz-mode scoped-token. With --secret-file, the router needs the same secret. With --private-key-file,
the router needs only the public key, and the token opens only the Sandbox with that UID, but no later Sandbox of the same
name. "hookbox url --signed-for" puts a token into a URL.

Examples:
  hookbox token demo -n team-a --secret-file secret --port 3000 --ttl 8h
  openssl genpkey -algorithm ed25519 -out k1.key && openssl pkey -in k1.key -pubout -out keys/k1.pem
  hookbox token demo -n team-a --private-key-file k1.key --key-id k1 --uid 6b2b7c4e-0a3f-4a57-9c0e-3f1b7f1c2d3e`;

interface TokenOptions {
  secretFile?: string;
  privateKeyFile?: string;
  keyId?: string;
  uid?: string;
  method?: string;
  path?: string;
  port?: string;
  ttl: string;
}

export function defineToken(command: Command, { stdout }: CommandContext): void {
  command
    .argument("<sandbox>", "name of the Sandbox, not of its claim")
    .option("--secret-file <file>", "file with secrets of 32 bytes or more, one per line; the first one signs")
    .option("--private-key-file <file>", "Ed25519 private key in PEM; needs --key-id and --uid")
    .option("--key-id <id>", "name by which the router knows the public key")
    .option("--uid <uid>", "UID of the Sandbox")
    .option("--port <port>", "only this port (default: all)")
    .option("--method <method>", "only this method; needs --private-key-file (default: all)")
    .option("--path <path>", "only this path; needs --private-key-file (default: all)")
    .option("--ttl <time>", "time for which the token is valid", "1h")
    .option("-n, --namespace <name>", 'namespace of the Sandbox (default: "default")')
    .addHelpText("after", MORE)
    .action(async (name: string) => {
      const { port, ttl, namespace: ns = "default", ...options } = optionsOf<TokenOptions>(command);
      const exp = Math.floor((Date.now() + durationMs("--ttl", ttl)) / 1000);
      const limit = port === undefined ? {} : { port: wholeNumber("--port", port, 1, 65535) };
      stdout.write(`${await sign({ ns, name, exp, ...limit }, options)}\n`);
    });
}

async function sign(claims: TokenClaims, options: Omit<TokenOptions, "port" | "ttl">): Promise<string> {
  const { secretFile, privateKeyFile, keyId, uid, method, path } = options;
  if (secretFile !== undefined && privateKeyFile === undefined) {
    if (uid ?? method ?? path ?? keyId) {
      throw new UsageError(
        "Cannot use --uid, --key-id, --method or --path with --secret-file: they need --private-key-file",
      );
    }
    const [secret] = await readingFile(secretFile, () => readSecrets(secretFile));
    return await signToken(secret as Uint8Array<ArrayBuffer>, claims);
  }
  if (secretFile !== undefined || privateKeyFile === undefined) {
    throw new UsageError("Cannot sign a token: use either --secret-file or --private-key-file");
  }
  if (keyId === undefined || uid === undefined) {
    throw new UsageError("Cannot sign with a private key: --key-id and --uid are required");
  }
  const pem = await readingFile(privateKeyFile, () => readFileSync(privateKeyFile, "utf8"));
  const key = await readSigningKey(pem).catch((cause) => {
    throw new UsageError(`Cannot sign with ${privateKeyFile}: it is not an Ed25519 private key in PEM format`, {
      cause,
    });
  });
  return await signSandboxToken(key, keyId, { ...claims, uid, method, path });
}
