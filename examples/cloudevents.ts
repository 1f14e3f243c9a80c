// deno-lint-ignore-file no-console -- programs print
/**
 * Receives CloudEvents about sandboxes and prints them: `node cloudevents.ts SECRET_FILE [PORT]`. Verifies each signature,
 * and ignores duplicates. @module
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import process from "node:process";
import { Webhook } from "standardwebhooks";

interface SandboxEvent {
  id: string;
  type: string;
  time: string;
  data: { namespace: string; name: string; claim?: { name: string }; reason?: string };
}

const [secretFile = "secret", port = "8090"] = process.argv.slice(2);
const webhook = new Webhook(readFileSync(secretFile, "utf8").trim());
/** IDs of the latest events. A keeper repeats only events of the last ten minutes. */
const seen = new Set<string>();
const MOST_REMEMBERED = 100_000;

createServer(async (request, response) => {
  const body = await text(request);
  let event: SandboxEvent;
  try {
    event = webhook.verify(body, request.headers as Record<string, string>) as SandboxEvent;
  } catch {
    response.writeHead(401).end("the signature is invalid\n");
    return;
  }
  if (!seen.has(event.id)) {
    seen.add(event.id);
    const [oldest] = seen;
    if (seen.size > MOST_REMEMBERED && oldest) seen.delete(oldest);
    const { type, time, data: { namespace, name, claim, reason } } = event;
    const of = claim ? ` (claim ${claim.name})` : "";
    console.log(`${time} ${namespace}/${name}${of}: ${type.split(".").at(-1)}${reason ? `, ${reason}` : ""}`);
  }
  response.writeHead(204).end();
}).listen(Number(port), () => console.log(`Listening on port ${port}`));
