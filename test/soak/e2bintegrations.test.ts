/** Published integrations with E2B, on hookbox's processes and a cluster in memory. Needs no installation. @module */
import { testEach } from "../consumers/consumers.ts";
import { E2B_INTEGRATIONS } from "../consumers/e2bintegrations.ts";

testEach(E2B_INTEGRATIONS, () => undefined);
