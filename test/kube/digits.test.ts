/** Integers of 64 bits keep all digits on the way from the API server and back to it. @module */
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { connected } from "./connected.ts";

const OBJECT = '{"spec":{"largest":9223372036854775807,"odd":-9007199254740993}}';

test("an object that is read is written back with all digits", async () => {
  const put: string[] = [];
  const { api } = await connected(async (request, response) => {
    if (request.method === "PUT") put.push(await text(request));
    response.writeHead(200, { "Content-Type": "application/json" }).end(OBJECT);
  });
  const { body } = await api.send({ method: "GET", path: "/a" });
  await api.send({ method: "PUT", path: "/a", body: body as object });
  expect(put).toEqual([OBJECT]);
});

test("so is one that a watch shows", async () => {
  const { api } = await connected((_, response) => void response.end(`{"type":"ADDED","object":${OBJECT}}\n`));
  const seen: string[] = [];
  for await (const { object } of (await api.watch("/a", {})).events) seen.push(JSON.stringify(object));
  expect(seen).toEqual([OBJECT]);
});
