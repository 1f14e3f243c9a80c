/** Which sandbox is meant by a host name that can be read in several ways, for somebody who may reach some of them. @module */
import type { IncomingMessage } from "node:http";
import { isRefusal, type Refusal } from "../refusal.ts";
import { badRequest, type Route, type Target } from "../destination.ts";
import type { Gate, Pass } from "./gate.ts";

/** A route with one reading, and what the gate says of it. */
export interface Chosen {
  route: Route;
  pass: Pass | Refusal;
}

/**
 * Asks the gate about each reading that exists, and chooses the only one that the client may reach. None is guessed, or
 * whoever makes a Sandbox of a fitting name would get what is meant for another.
 *
 * | may reach | answer |
 * |---|---|
 * | one | that one |
 * | several | 400 |
 * | none, whether there is one or not | the gate's about the first reading; where it would let in, 404 |
 *
 * @param exists tells whether there is such a Sandbox for anybody to reach
 */
export async function chooseReading(
  { readings = [], ...route }: Route,
  exists: (target: Target) => boolean,
  gate: Gate,
  request: IncomingMessage,
  address: string,
): Promise<Chosen> {
  const ask = async (target: Target): Promise<Chosen> => {
    const asked = { ...route, target };
    return { route: asked, pass: await gate(request, asked, address) };
  };
  const open: Chosen[] = [];
  for (const target of readings.filter(exists)) {
    const chosen = await ask(target);
    if (!isRefusal(chosen.pass)) open.push(chosen);
  }
  const [chosen, second] = open;
  if (chosen && !second) return chosen;
  if (second) {
    return { route, pass: badRequest("The host name fits several sandboxes: name the one by path or header.") };
  }
  const { pass } = await ask(route.target);
  return {
    route,
    pass: isRefusal(pass) ? pass : { status: 404, detail: "Cannot find a sandbox that the host name fits." },
  };
}
