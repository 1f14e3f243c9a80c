/** Host names that can be read in several ways: what the answer tells of what exists. @module */
import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { chooseTarget, type Gate } from "../../../packages/router/access/gate.ts";
import type { Route } from "../../../packages/router/destination.ts";

const FIRST = { namespace: "team-a", name: "demo", port: 80 };
const SECOND = { namespace: "a", name: "demo-team", port: 80 };
const ROUTE: Route = { target: FIRST, candidates: [FIRST, SECOND], path: "/", base: "", via: "host" };
const keyOf = ({ namespace, name }: typeof FIRST) => `${namespace}/${name}`;
const [first, second] = [keyOf(FIRST), keyOf(SECOND)];

/** Asks for whom `may` names, where `there` exist; tells which sandbox it is, or the status. */
async function choose(there: string[], may: string[] | "nobody") {
  const gate: Gate = (_, { target, path }) => {
    if (may === "nobody") return { status: 401, detail: "who" };
    if (!may.includes(keyOf(target))) return { status: 403, detail: `not ${keyOf(target)}` };
    return {
      client: "ann",
      isAnonymous: false,
      mayEmbed: false,
      expires: undefined,
      uid: undefined,
      path,
      withheld: new Set(),
      added: [],
    };
  };
  const { route, decision: pass } = await chooseTarget(
    ROUTE,
    (target) => there.includes(keyOf(target)),
    gate,
    {} as IncomingMessage,
    "",
  );
  return "status" in pass ? `${pass.status} ${pass.detail}` : keyOf(route.target);
}

test.for<[what: string, there: string[], may: string[] | "nobody", answer: string]>([
  ["the one that is there", [first], [first], first],
  ["the one that is there, which is not the first", [second], [second], second],
  ["of two the one that the client may reach", [first, second], [second], second],
  [
    "none of two that it may reach",
    [first, second],
    [first, second],
    "400 The host name matches several sandboxes: select one by path or header.",
  ],
  ["none that is not there", [], [first, second], "404 Cannot find a sandbox that matches the host name."],
])("chooses %s", async ([, there, may, answer]) => {
  expect(await choose(there, may)).toBe(answer);
});

test.for<[who: string, may: string[] | "nobody", answer: string]>([
  ["whom nobody knows", "nobody", "401 who"],
  ["who may reach none of them", [], `403 not ${first}`],
  ["who may reach the other reading's alone", [second], `403 not ${first}`],
  ["who may reach the first reading's alone", [first], "404 Cannot find a sandbox that matches the host name."],
])("tells %s nothing of what is there", async ([, may, answer]) => {
  const denied = [first, second].filter((key) => may === "nobody" || !may.includes(key));
  for (const there of [[], ...denied.map((key) => [key]), denied]) {
    expect([there, await choose(there, may)]).toEqual([there, answer]);
  }
});
