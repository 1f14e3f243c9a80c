/** `hookbox convert`: converts files from v1alpha1 to v1beta1. @module */
import { Command } from "commander";
import { UsageError } from "../failure.ts";
import { formatOf } from "../output/print.ts";
import { collect } from "../values.ts";
import type { CommandContext } from "../commandcontext.ts";

interface ConvertOptions {
  filename: string[];
  output?: string;
}

const MORE = `
Objects of other kinds are printed as they are; comments are not. A claim that took any pool of its template is given
the pool of that template in the files, else one without members, which is printed along with it.

Examples:
  hookbox convert -f sandbox.yaml | kubectl apply -f -
  kubectl get sandboxes.v1alpha1.agents.x-k8s.io -A -o yaml | hookbox convert -f -`;

export function convertCommand(context: CommandContext): Command {
  return new Command("convert")
    .description("Print objects of v1alpha1 as v1beta1")
    .option("-f, --filename <file>", "what to convert; - is standard input; again for more", collect, [])
    .option("-o, --output <format>", "yaml or json", "yaml")
    .addHelpText("after", MORE)
    .action(async ({ filename: files, output }: ConvertOptions) => {
      if (files.length === 0) throw new UsageError("Cannot convert: say what with -f FILE");
      const format = formatOf(output, ["json", "yaml"]) === "json" ? "json" : "yaml";
      const { runConvert } = await import("../convert.ts");
      await runConvert(context, files, format);
    });
}
