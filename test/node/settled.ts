/** After each file on the real node: nothing of its tests is still being cleared away while the next file runs. @module */
import { afterAll } from "vitest";
import { untilNamespacesGone } from "../integration/namespace.ts";

afterAll(untilNamespacesGone, 310_000);
