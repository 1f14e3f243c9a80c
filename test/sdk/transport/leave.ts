/** A program that has begun something at an API server, leaves it, and has nothing else to do. See leaving.test.ts. @module */
import process from "node:process";
import { createPodTransport, type PodPlace } from "../../../packages/sdk/transport/direct.ts";
import { execInPod } from "../../../packages/sdk/transport/exec.ts";
import { createForward } from "../../../packages/sdk/transport/forward.ts";

const [server = "", way = "", how = ""] = process.argv.slice(2);
const pod: PodPlace = { namespace: "team-a", name: "demo", ip: "" };
const credentials = { server, namespace: "team-a", current: () => Promise.resolve({ headers: {}, tls: {} }) };
const transport = createPodTransport(
  {
    ...createForward(credentials, () => Promise.resolve(pod)),
    exec: (place, request) => execInPod(credentials, place, request),
  },
  pod.namespace,
  pod.name,
);
const leaving = new AbortController();
const { signal } = leaving;
const BEGIN: Record<string, () => Promise<unknown> | undefined> = {
  forward: () => transport.fetch(8080, "/", { signal }),
  exec: () => transport.exec?.({ command: ["true"], stdin: false, signal }),
};
const begun = BEGIN[way]?.()?.catch(() => {});
// Answered once the server has the other connection.
await (await fetch(`${server}/connected`)).text();
if (how === "close") await transport.close();
else leaving.abort();
await begun;
process.stdout.write("left\n");
