/** What programs/codeinterpreter.py prints if all is right. @module */
import { expect } from "vitest";

const result = (text: string, is_main_result: boolean) =>
  expect.objectContaining({ text, is_main_result, extra: null });
const results = [result("first", false), result("2", true)];

/** The object that the program prints as JSON. */
export const INTERPRETED: object = {
  run: { results, logs: { stdout: ["out\n"], stderr: ["err\n"] }, error: null, execution_count: 1 },
  shown: [["out\n", false, true], ["err\n", true, true]],
  results,
  error: ["NameError", "name 'missing' is not defined", true, 1],
  languages: [["q"], ["[ 1 ]"], ["2"], [null, "3\n"]],
  envs: ["1", "none"],
  folder: [true, true],
  timeout: "TimeoutException",
  kept: "1",
  charts: [
    ["LineChart", "PointData"],
    ["ScatterChart", "PointData"],
    ["BarChart", "BarData"],
    ["PieChart", "PieData"],
    ["BoxAndWhiskerChart", "BoxAndWhiskerData"],
    ["Chart"],
    ["SuperChart", "LineChart", "PieChart"],
    ["NoneType"],
  ],
  formats: [...Array(7).fill(["chart", "png", "text"]), ["data", "html", "text"]],
  listed: [true, true],
  restarted: ["False", 1],
  removed: ["NotFoundException", expect.stringMatching(/^Context .* not found$/)],
  unknown: ["SandboxException", expect.stringMatching(/^500( Internal Server Error)?: Cannot run "cobol": /)],
  both: expect.any(String),
};
