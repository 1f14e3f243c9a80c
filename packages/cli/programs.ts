/** The processes that `hookbox` can run, each with its options; loaded when they are needed. @module */
import type { Program } from "../process/flags.ts";

/** Loads the description of a process. */
export type LoadProgram = () => Promise<Program>;

/** By the names of their commands. */
export const PROGRAMS = {
  serve: async () => (await import("../../hooks/all.ts")).SERVE,
  keeper: async () => (await import("../keeper/options.ts")).KEEPER,
  binder: async () => (await import("../binder/options.ts")).BINDER,
  router: async () => (await import("../router/options/options.ts")).ROUTER,
  runtime: async () => (await import("../runtime/options.ts")).RUNTIME,
} satisfies Record<string, LoadProgram>;
