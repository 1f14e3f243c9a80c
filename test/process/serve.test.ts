/** Listening and stopping for real, on a port of loopback. @module */
import { expect, test } from "vitest";
import { serve } from "../../packages/process/serve.ts";

const log = () => {};

test("stop() lets running requests end, and after that nobody listens", async () => {
  let finish = () => {};
  const finished = new Promise<void>((resolve) => finish = resolve);
  let begin = () => {};
  const begun = new Promise<void>((resolve) => begin = resolve);
  const fetchApp = async () => {
    begin();
    await finished;
    return new Response("done");
  };
  const states: string[] = [];
  const server = await serve({ fetch: fetchApp }, {
    port: 0,
    host: "127.0.0.1",
    log,
    onStopping: () => states.push("stopping"),
  });
  const url = `http://127.0.0.1:${server.port}/`;
  const running = fetch(url);
  await begun;
  const stopped = server.stop().then(() => states.push("stopped"));
  expect(states).toEqual(["stopping"]);
  finish();
  expect(await (await running).text()).toBe("done");
  await stopped;
  expect(states).toEqual(["stopping", "stopped"]);
  await expect(fetch(url)).rejects.toThrow();
});

test("stop() does not wait for ever", async () => {
  let begin = () => {};
  const begun = new Promise<void>((resolve) => begin = resolve);
  const stuck = () => {
    begin();
    return new Promise<Response>(() => {});
  };
  const server = await serve({ fetch: stuck }, { port: 0, host: "127.0.0.1", log, graceMs: 50 });
  const running = fetch(`http://127.0.0.1:${server.port}/`);
  const broken = expect(running).rejects.toThrow();
  await begun;
  await server.stop();
  await broken;
});

test("a port that is taken is an error", async () => {
  const app = { fetch: () => new Response("ok") };
  const server = await serve(app, { port: 0, host: "127.0.0.1", log });
  await expect(serve(app, { port: server.port, host: "127.0.0.1", log })).rejects.toThrow();
  await server.stop();
});
