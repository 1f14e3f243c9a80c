/** A program for a Pod: a server that reads bodies slowly, and answers with their SHA-256. @module */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const server = createServer(async (request, response) => response.end(await hashOf(request)));
server.listen(9002);

async function hashOf(request: IncomingMessage): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of request) {
    hash.update(chunk);
    await sleep(2);
  }
  return hash.digest("hex");
}
