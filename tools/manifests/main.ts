/** `npm run -s manifests`: prints what `kubectl apply` needs to know hookbox' APIs and hooks. @module */
import process from "node:process";
import { parseArgs } from "node:util";
import { renderManifests } from "./render.ts";

const HELP = `Usage: npm run -s manifests -- --hooks-url URL

Prints the CRDs and controllers of hookbox as one YAML stream:
  npm run -s manifests -- --hooks-url http://10.0.0.5:8080 | kubectl apply --server-side -f -

  --hooks-url URL   where the hooks listen, as Metacontroller reaches them: hook H is called at URL/H/sync
                    (default: the Services named in compositecontrollers/ and decoratorcontrollers/)
`;

try {
  const { values } = parseArgs({
    options: {
      "hooks-url": { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  process.stdout.write(values.help ? HELP : renderManifests(values["hooks-url"]));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
