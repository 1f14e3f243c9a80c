// deno-lint-ignore-file no-console -- programs print
/**
 * A code interpreter: runs code from a model in one sandbox, which keeps the variables between the pieces of code.
 * Output, results and errors go back to the model. Needs the pool of python.yaml.
 */
import { Sandbox } from "hookbox";

/** The answers of a model, in their order. */
const ANSWERS = [
  `import csv, io
rows = list(csv.DictReader(io.StringIO("city,people\\nBern,146000\\nBasel,177000\\nZug,31000\\n")))
len(rows)`,
  `total = sum(int(row["peple"]) for row in rows)`,
  `total = sum(int(row["people"]) for row in rows)
print("mean", total // len(rows))
total`,
];

await using sandbox = await Sandbox.create({ pool: "python", timeoutMs: 600_000 });
for (const [index, code] of ANSWERS.entries()) {
  const { text, error, logs } = await sandbox.runCode(code, { timeoutMs: 30_000 });
  console.log(`[${index + 1}]`, logs.stdout.join("").trim(), error ? `${error.name}: ${error.value}` : text ?? "");
}
