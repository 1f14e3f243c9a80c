/** CloudEvents of the assembled keeper, with its real flags, at a receiver that fails in many ways. @module */
import { Buffer } from "node:buffer";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { HTTP } from "cloudevents";
import { Webhook } from "standardwebhooks";
import { expect, onTestFinished, test } from "vitest";
import { freePorts } from "../../dev/cluster/ports.ts";
import { eventually, until, untilThere } from "../eventually.ts";
import { SANDBOX } from "../keeper/keeping.ts";
import { serveApi } from "../kube/servedapi.ts";
import { startMain } from "../mainprocess.ts";
import { send } from "../runtime/servers.ts";
import { aSandbox } from "../sandboxes.ts";
import { makeTempFolder } from "../tempfolder.ts";

const aSecret = (letter: string) => `whsec_${Buffer.from(letter.repeat(32)).toString("base64")}`;
const [FIRST, SECOND] = [aSecret("a"), aSecret("b")];

type Fault = (request: IncomingMessage, response: ServerResponse) => void;
const answering = (status: number): Fault => (_request, response) => void response.writeHead(status).end("no");

interface Taken {
  name: string;
  what: string;
  id: string;
}

/** Starts a receiver that checks all that a receiver can, at a port; it goes with the test. */
async function startReceiver(secret: () => string, at: number) {
  const taken: Taken[] = [];
  const unsigned: string[] = [];
  const faults: Fault[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const fault = faults.shift();
    if (fault) return fault(request, response);
    const headers = request.headers as Record<string, string>;
    try {
      new Webhook(secret()).verify(body, headers);
    } catch (error) {
      unsigned.push(String(error));
      return response.writeHead(401).end();
    }
    const event = HTTP.toEvent<{ name: string }>({ headers, body });
    const { id, type, data } = "id" in event ? event : { id: "", type: "", data: { name: "" } };
    expect(headers["webhook-id"]).toBe(id);
    taken.push({ name: data?.name ?? "", what: type.replace(/.*\./, ""), id });
    response.writeHead(204).end();
  });
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  await new Promise<void>((resolve) => server.listen(at, "127.0.0.1", resolve));
  onTestFinished(stop);
  return { taken, unsigned, faults, stop };
}

const condition = (type: string, status: string, reason: string) => {
  const lastTransitionTime = new Date().toISOString().replace(/\.\d+Z/, "Z");
  return { type, status, reason, message: "", lastTransitionTime };
};
const STARTING =
  () => [condition("Ready", "False", "DependenciesNotReady"), condition("Suspended", "False", "NotSuspended")];
const READY = () => [condition("Ready", "True", "DependenciesReady"), condition("Suspended", "False", "NotSuspended")];
const SUSPENDED =
  () => [condition("Ready", "False", "SandboxSuspended"), condition("Suspended", "True", "PodTerminated")];

async function world() {
  const { api, kubeconfig } = await serveApi(undefined, "keeper", "binder");
  const secretFile = join(makeTempFolder(), "secret");
  writeFileSync(secretFile, `${FIRST}\n`);
  const [port = 0, receiverPort = 0] = await freePorts(2);
  const start = async (runtime: "node" | "deno" = "node", ...flags: string[]) => {
    const leave = ["run", "--no-prompt", "--cached-only", "--allow-net", "--allow-env", "--allow-sys=hostname"];
    const read = `--allow-read=${kubeconfig},${secretFile}`;
    const keeper = await startMain(runtime, [
      ...(runtime === "deno" ? [...leave, read] : []),
      ...["packages/keeper/main.ts", "--kubeconfig", kubeconfig, "--namespace", "system", "--no-binder"],
      ...["--no-leader-election", "--port", `${port}`],
      ...[
        "--cloudevents-url",
        `http://127.0.0.1:${receiverPort}/hook`,
        "--cloudevents-secret-file",
        secretFile,
        ...flags,
      ],
    ], "Starting");
    const metrics = async () => (await send(port, "GET", "/metrics")).text;
    // Before it leads it is ready, too; once it does, when it has seen all that there is.
    await until(async () =>
      (await metrics()).includes("hookbox_keeper_leading 1\n") && (await send(port, "GET", "/readyz")).status === 200
    );
    return { ...keeper, metrics };
  };
  const put = (name: string, conditions: object[], metadata: object = {}) => {
    const creationTimestamp = new Date().toISOString();
    const sandbox = aSandbox({
      metadata: { name, uid: `uid-${name}`, creationTimestamp, ...metadata },
      status: { conditions },
    });
    api.put(SANDBOX.replace(/demo$/, name), { ...sandbox });
  };
  return { api, secretFile, receiverPort, start, put };
}

test.for(["node", "deno"] as const)(
  "on %s a receiver that fails has all events in the end, in order",
  async (runtime) => {
    const { api, receiverPort, start, put } = await world();
    const receiver = await startReceiver(() => FIRST, receiverPort);
    receiver.faults.push(answering(500), (request) => request.socket.destroy(), answering(429), answering(404));
    const keeper = await start(runtime);
    const names = ["a", "b", "c"];
    for (const conditions of [STARTING(), READY(), SUSPENDED(), STARTING(), READY()]) {
      for (const name of names) put(name, conditions);
    }
    for (const name of names) api.remove(SANDBOX.replace(/demo$/, name));
    const life = ["created", "ready", "suspended", "resumed", "ready", "deleted"];
    await untilThere(3, () => receiver.taken.filter(({ what }) => what === "deleted"));
    for (const name of names) {
      const own = receiver.taken.filter((one) => one.name === name);
      expect(own.map(({ what }) => what)).toEqual(life);
    }
    expect(receiver.unsigned).toEqual([]);
    expect(await keeper.metrics()).toMatch(/^hookbox_keeper_cloudevents_total\{result="failed"\} 4$/m);
    // The receiver has an event before the keeper has its answer.
    await eventually(() => keeper.metrics()).toMatch(/^hookbox_keeper_cloudevents_waiting 0$/m);
    expect(keeper.said("Cannot deliver CloudEvents")).toHaveLength(1);
    expect(keeper.said("CloudEvents are delivered again")).toHaveLength(1);
    expect(await keeper.stop()).toBe(0);
  },
);

test("a receiver that was away, and comes back, has what happened in between", async () => {
  const { receiverPort, start, put } = await world();
  const keeper = await start();
  put("a", READY());
  await until(() => keeper.said("Cannot deliver CloudEvents").length > 0);
  const receiver = await startReceiver(() => FIRST, receiverPort);
  await untilThere(2, () => receiver.taken);
  expect(receiver.taken.map(({ what }) => what)).toEqual(["created", "ready"]);
  // A keeper that begins tells the same again, by the same ids, and a receiver knows them.
  expect(await keeper.stop()).toBe(0);
  await start();
  await untilThere(4, () => receiver.taken);
  expect(receiver.taken.slice(2)).toEqual(receiver.taken.slice(0, 2));
});

test("the example takes each once, and nothing that somebody else has signed", async () => {
  const { api, receiverPort, secretFile, start, put } = await world();
  const example = await startMain("node", ["examples/cloudevents.ts", secretFile, `${receiverPort}`], undefined);
  await until(() => example.output().includes("Listening"));
  const forged = await send(receiverPort, "POST", "/", { body: "{}" });
  expect([forged.status, forged.text]).toEqual([401, "the signature is invalid\n"]);
  const keeper = await start();
  put("a", READY());
  const lines = () => example.output().split("\n").slice(1, -1).map((line) => line.replace(/^\S+ /, ""));
  await untilThere(2, lines);
  expect(lines()).toEqual(["team-a/a: created", "team-a/a: ready, DependenciesReady"]);
  expect(await keeper.stop()).toBe(0);
  const again = await start();
  api.remove(SANDBOX.replace(/demo$/, "a"));
  await untilThere(3, lines);
  expect(lines()).toEqual(["team-a/a: created", "team-a/a: ready, DependenciesReady", "team-a/a: deleted"]);
  // The receiver prints before the keeper has its answer.
  await eventually(() => again.metrics()).toMatch(/^hookbox_keeper_cloudevents_total\{result="delivered"\} 3$/m);
});

test("a secret can be changed while the keeper runs", async () => {
  const { receiverPort, secretFile, start, put } = await world();
  let known = FIRST;
  const receiver = await startReceiver(() => known, receiverPort);
  await start();
  put("a", []);
  await untilThere(1, () => receiver.taken);
  writeFileSync(secretFile, `${FIRST}\n${SECOND}\n`);
  put("b", []);
  await untilThere(2, () => receiver.taken);
  known = SECOND;
  put("c", []);
  await untilThere(3, () => receiver.taken);
  expect(receiver.unsigned).toEqual([]);
  writeFileSync(secretFile, `${FIRST}\n`);
  put("d", []);
  await eventually(() => receiver.unsigned.length).toBeGreaterThan(0);
  writeFileSync(secretFile, `${SECOND}\n`);
  await untilThere(4, () => receiver.taken);
});

test("a redirect is not followed, and a receiver that never answers holds up nobody else", async () => {
  const { receiverPort, start, put } = await world();
  const receiver = await startReceiver(() => FIRST, receiverPort);
  const [elsewherePort = 0] = await freePorts(1);
  const elsewhere = await startReceiver(() => FIRST, elsewherePort);
  const location = `http://127.0.0.1:${elsewherePort}/hook`;
  receiver.faults.push(
    (_request, response) => void response.writeHead(307, { Location: location }).end(),
    () => {},
  );
  await start();
  put("a", []);
  await until(() => receiver.faults.length === 0);
  put("b", []);
  // The event of a is sent again soon after that of b has come: a late look sees both at once.
  await untilThere(2, () => receiver.taken);
  expect(receiver.taken.map(({ name }) => name)).toEqual(["b", "a"]);
  expect(elsewhere.taken).toEqual([]);
});

test.for<[string, string]>([
  ["", "is empty"],
  ["secret", "base64 of at least 24 bytes"],
  [`whsec_${Buffer.from("short").toString("base64")}`, "base64 of at least 24 bytes"],
])("a keeper does not start with the secret %j", async ([secret, message]) => {
  const { secretFile, start } = await world();
  writeFileSync(secretFile, secret);
  await expect(start()).rejects.toThrow(message);
});
