/** A web app of one page that has the SDK, bundled as its users would bundle it, and a router at the same origin. @module */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { build, type Rolldown } from "vite";
import { onTestFinished } from "vitest";
import { listenOn } from "../../packages/process/connections.ts";

/** Path of the router in the app. */
export const ROUTER = "/router";

const PAGE = `<!doctype html><title>app</title><link rel="icon" href="data:,">
<script>globalThis.loaded = import("/sdk.js").then((sdk) => { globalThis.hookbox = sdk; });</script>`;

/** Bundles the SDK for browsers. @returns code by file name; `sdk.js` is the entry */
export async function bundleSDK(): Promise<Map<string, string>> {
  const made = await build({
    configFile: false,
    // It tells of each module of Node's that the parts for Node ask for.
    logLevel: "error",
    build: {
      write: false,
      minify: false,
      lib: { entry: new URL("../../packages/sdk/mod.ts", import.meta.url).pathname, formats: ["es"], fileName: "sdk" },
    },
  }) as Rolldown.RolldownOutput[];
  const chunks = made.flatMap(({ output }) => output).filter((one) => one.type === "chunk");
  return new Map(chunks.map(({ fileName, code }) => [fileName, code]));
}

/** Serves the app until the test ends. @returns its origin, and the files that were asked for */
export async function serveApp(
  files: Map<string, string>,
  routerUrl: string,
): Promise<{ origin: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((incoming, answer) => {
    const path = incoming.url ?? "/";
    if (path.startsWith(`${ROUTER}/`)) return passOn(incoming, answer, routerUrl + path.slice(ROUTER.length));
    const file = path.slice(1);
    const code = file === "" ? PAGE : files.get(file);
    asked.push(file);
    answer.writeHead(code === undefined ? 404 : 200, { "Content-Type": file === "" ? "text/html" : "text/javascript" });
    answer.end(code);
  });
  const port = await listenOn(server, "127.0.0.1", 0);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `http://127.0.0.1:${port}`, asked };
}

function passOn(incoming: IncomingMessage, answer: ServerResponse, url: string): void {
  const { method = "GET", headers } = incoming;
  const outgoing = request(url, { method, headers }, (come) => {
    answer.writeHead(come.statusCode ?? 502, come.headers);
    come.pipe(answer);
  });
  answer.once("close", () => outgoing.destroy());
  outgoing.on("error", () => answer.destroy());
  incoming.pipe(outgoing);
}
