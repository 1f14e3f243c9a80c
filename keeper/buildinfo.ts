/** Which build this is, as the contract's metric `agent_sandbox_build_info` tells it. @module */
import { readFileSync } from "node:fs";
import process from "node:process";
import { Gauge, type Registry } from "prom-client";

/** Words of Go for what Node calls otherwise. */
const ARCHITECTURES: Record<string, string> = { x64: "amd64", ia32: "386" };

/** Makes the metric. Commit and date come from the image's environment, HOOKBOX_COMMIT and HOOKBOX_BUILD_DATE. */
export function buildInfo(registers: Registry[]): void {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  const labels = {
    git_version: `v${version}`,
    git_commit: process.env["HOOKBOX_COMMIT"] ?? "unknown",
    build_date: process.env["HOOKBOX_BUILD_DATE"] ?? "unknown",
    // The contract's label; there is no Go in it.
    go_version: "none",
    compiler: `node ${process.version}`,
    platform: `${process.platform}/${ARCHITECTURES[process.arch] ?? process.arch}`,
  };
  const labelNames = Object.keys(labels);
  new Gauge({ name: "agent_sandbox_build_info", help: "1, with the build in the labels", labelNames, registers })
    .set(labels, 1);
}
