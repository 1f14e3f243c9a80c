/** `hookbox manifests`: prints CRDs and controllers. @module */
import { Command } from "commander";
import type { CommandContext } from "../commandcontext.ts";

interface ManifestOptions {
  hooksUrl?: string;
}

const MORE = `
Example:
  hookbox manifests --hooks-url http://10.0.0.5:8080 | kubectl apply --server-side -f -`;

export function manifestsCommand(context: CommandContext): Command {
  const command = new Command("manifests")
    .description("Print CRDs and controllers as YAML")
    .addHelpText("after", MORE);
  return withManifestOptions(command).action(async ({ hooksUrl }: ManifestOptions) => {
    const { renderManifests } = await import("../../manifests/render.ts");
    context.stdout.write(renderManifests(hooksUrl));
  });
}

/** Adds the options that say what the manifests contain. */
export function withManifestOptions(command: Command): Command {
  return command
    .option(
      "--hooks-url <url>",
      "where the hooks listen, as Metacontroller reaches them: hook H is called at URL/H/sync " +
        "(default: Services in hookbox-system)",
    );
}
