/** What the page's policy forbids is not even tried. Loaded before anything else. @module */
import { config } from "zod";

// Schemas would try whether they may compile code.
config({ jitless: true });
