/** The cluster that most tests share: importing this waits until it is up. @module */
import { shared } from "./shared.ts";

export const suite = await shared("suite");

/** Whether containers run: nothing runs on simulated nodes. */
export const hasRealNode = suite.nodes === "real";
