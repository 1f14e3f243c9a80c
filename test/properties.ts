/** fast-check, begun with the seed of the run: every property is tried with the same values again, and says so. @module */
import fc from "fast-check";
import { inject } from "vitest";

fc.configureGlobal({ seed: inject("seed") });

export default fc;
