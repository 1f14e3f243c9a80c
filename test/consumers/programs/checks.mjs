/** The checks of a program: each is `ok`, or what came instead. @module */
import process from "node:process";

const results = {};

/** Does the work, and compares what it returns. */
export async function check(name, work, wanted) {
  try {
    const found = JSON.stringify(await work());
    results[name] = found === JSON.stringify(wanted) ? "ok" : `${found}`;
  } catch (error) {
    results[name] = String(error);
  }
}

/** Prints the results as JSON, and ends the program. */
export function report() {
  process.stdout.write(JSON.stringify(results), () => process.exit());
}
