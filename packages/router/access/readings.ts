/** Chooses a sandbox if a host name can mean several: the only one that the client may reach. @module */
import type { IncomingMessage } from "node:http";
import { isRefusal, type Refusal } from "../refusal.ts";
import { badRequest, type Route, type Target } from "../destination.ts";
import type { Gate, Pass } from "./gate.ts";

/** A route with one target, and the gate's decision about it. */
export interface Chosen {
  route: Route;
  pass: Pass | Refusal;
}

/**
 * Asks the gate about each target that exists, and chooses the only one that the client may reach. It never guesses:
 * otherwise a user could create a Sandbox with a matching name and get the requests for another Sandbox.
 *
 * | targets that the client may reach | result |
 * |---|---|
 * | one | this target |
 * | several | 400 |
 * | none, whether one exists or not | the gate's refusal for the first target; 404 if the gate admits it |
 *
 * @param exists tells whether a Sandbox exists and may be reached by name
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
