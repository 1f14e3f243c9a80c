/** `hookbox get`: lists sandboxes, claims, pools and templates. @module */
import { Command } from "commander";
import { kindOf } from "../cluster/kinds.ts";
import { CLAIM, findKind, type Kind, SANDBOX } from "../../summary/kinds.ts";
import { optionsOf, withAllNamespaces, withCluster } from "../clusteroptions.ts";
import { UsageError } from "../failure.ts";
import { formatOf } from "../output/print.ts";
import type { CommandContext } from "../commandcontext.ts";

interface GetOptions {
  output?: string;
  selector?: string;
  watch?: boolean;
  headers: boolean;
}

const MORE = `
Kinds: sandboxes (the default), claims, pools, templates, by any of their names: sbx, sbxc, swp, sbxt.

Examples:
  hookbox get                      the sandboxes of this namespace
  hookbox get claims -A -o wide    everybody's claims, with pool, address and expiry
  hookbox get pool/python -w       one pool, and each of its changes`;

export function getCommand(context: CommandContext): Command {
  const command = new Command("get")
    .description("Show sandboxes, claims, pools or templates")
    .argument("[kind]", "which kind, or kind/name")
    .argument("[names...]", "which of them (default: all)")
    .option("-o, --output <format>", "json, yaml, name or wide")
    .option("-l, --selector <labels>", "only with these labels")
    .option("-w, --watch", "go on, and show what changes")
    .option("--no-headers", "leave out the first line")
    .addHelpText("after", MORE);
  withAllNamespaces(command).action(async (word: string | undefined, names: string[]) => {
    const options = optionsOf<GetOptions>(command);
    const { kind, names: wanted } = wantedOf(word, names);
    const format = formatOf(options.output);
    if (wanted.length > 0 && options.allNamespaces) {
      throw new UsageError("Cannot get by name in all namespaces: leave out the name or -A");
    }
    const { runGet } = await import("../get.ts");
    const { output: _, headers, watch = false, allNamespaces = false, ...rest } = options;
    await runGet(context, { ...rest, kind, names: wanted, format, headers, watch, allNamespaces });
  });
  return withCluster(command);
}

/** Parses `kind`, `kind/name` and `kind name…`. Without a kind, it means Sandboxes. */
function wantedOf(word: string | undefined, names: string[]): { kind: Kind; names: string[] } {
  if (word === undefined) return { kind: SANDBOX, names };
  const parts = [word, ...names].map((text) => text.split("/"));
  if (parts.every(([, name]) => name !== undefined)) {
    const kinds = new Set(parts.map(([kind = ""]) => kindOf(kind)));
    const [kind = CLAIM] = kinds;
    if (kinds.size > 1) throw new UsageError("Cannot get several kinds at once: ask for each by itself");
    return { kind, names: parts.map(([, name = ""]) => name) };
  }
  const kind = findKind(word);
  return { kind: kind ?? kindOf(word), names };
}
