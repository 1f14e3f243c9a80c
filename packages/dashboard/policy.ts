/** Configures zod for the page's Content-Security-Policy. Must be loaded before anything else. @module */
import { config } from "zod";

// Otherwise schemas would test whether they can compile code, which the policy forbids.
config({ jitless: true });
