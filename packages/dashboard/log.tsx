/** Shows the log of a container: with colours, a search, earlier runs, and following only while its end is in view. @module */
/// <reference lib="dom" />
import { type Color, createAnsiSequenceParser, createColorPalette } from "ansi-sequence-parser";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ContainerFact, PodFact } from "../api/diagnosis/facts.ts";
import { saveAs, Trouble } from "./parts.tsx";
import { logOf, type Session } from "./session.ts";

/** Most lines that are kept: with more, browsers become slow. "Download" gets all of them. */
const MOST_LINES = 5000;
/** Lines of the past that are read at first. */
const TAIL_LINES = 1000;
/** How close to its end a log is followed, in pixels. */
const NEAR = 24;

interface LogProps {
  session: Session;
  namespace: string;
  /** The Pod; undefined: there is none, or it could not be read. */
  pod: PodFact | undefined;
  /** Name of the Pod if `pod` is undefined. */
  name: string;
}

/** Shows a log, with a choice of the container and of its run. */
export function Log({ session, namespace, pod, name }: LogProps) {
  const [chosen, setChosen] = useState<string>();
  const [previous, setPrevious] = useState(false);
  const containers = containersOf(pod);
  const container = containers.find((one) => one.name === chosen) ?? containers[0];
  const restarts = container?.restartCount ?? 0;
  const which = { namespace, pod: pod?.metadata.name ?? name, ...container ? { container: container.name } : {} };
  return (
    <>
      <div class="actions">
        {containers.length > 1 && (
          <label>
            Container
            <select value={container?.name} onChange={({ currentTarget }) => setChosen(currentTarget.value)}>
              {containers.map(({ name }) => <option key={name}>{name}</option>)}
            </select>
          </label>
        )}
        {(restarts > 0 || previous) && (
          <label>
            <input
              type="checkbox"
              checked={previous}
              onChange={({ currentTarget }) => setPrevious(currentTarget.checked)}
            />
            Previous run ({restarts} {restarts === 1 ? "restart" : "restarts"})
          </label>
        )}
      </div>
      <LogView
        key={`${which.pod}/${container?.name}/${previous}`}
        session={session}
        which={{ ...which, previous }}
        hasStarted={pod === undefined || hasLog(container)}
        run={previous ? "" : `${pod?.metadata.uid}/${restarts}/${hasLog(container)}`}
      />
    </>
  );
}

/** Lists the containers of a Pod, init containers last. */
function containersOf(pod: PodFact | undefined): ContainerFact[] {
  const { containerStatuses = [], initContainerStatuses = [] } = pod?.status ?? {};
  const started = [...containerStatuses, ...initContainerStatuses];
  const order = (pod?.spec?.containers ?? []).map(({ name }) => name);
  const place = ({ name }: ContainerFact) => order.includes(name) ? order.indexOf(name) : order.length;
  return started.length === 0 ? order.map((name) => ({ name })) : started.sort((a, b) => place(a) - place(b));
}

/** Tells whether there is something to read: a container that still waits for its image has no log. */
function hasLog(container: ContainerFact | undefined): boolean {
  const { state, lastState } = container ?? {};
  return [state?.running, state?.terminated, lastState?.terminated].some((one) => one !== undefined);
}

interface LogViewProps {
  session: Session;
  which: { namespace: string; pod: string; container?: string; previous: boolean };
  hasStarted: boolean;
  /** Changes when the container has a new log: it was started or restarted. */
  run: string;
}

function LogView({ session: { base, token }, which, hasStarted, run }: LogViewProps) {
  const [lines, setLines] = useState<readonly LogLine[]>([]);
  const [end, setEnd] = useState<string>();
  const [trouble, setTrouble] = useState<string>();
  const [words, setWords] = useState("");
  const [isAtEnd, setAtEnd] = useState(true);
  const [attempt, setAttempt] = useState(0);
  const frame = useRef<HTMLDivElement>(null);
  const log = useRef(createLogLines(MOST_LINES));
  useEffect(() => {
    if (!hasStarted) return;
    const ending = new AbortController();
    const { signal } = ending;
    let isPlanned = false;
    // Several pieces are shown together, at most once per frame.
    const show = () => {
      if (isPlanned) return;
      isPlanned = true;
      requestAnimationFrame(() => {
        isPlanned = false;
        if (!signal.aborted) setLines(log.current.lines());
      });
    };
    const read = async () => {
      const isAgain = log.current.lines().length > 0;
      let isFirst = true;
      for await (const part of logOf(base, token, { ...which, follow: true, tailLines: TAIL_LINES }, signal)) {
        if (isFirst && isAgain) log.current.add("\n\x1b[0m\x1b[2m— The container was started again —\x1b[0m\n");
        isFirst = false;
        log.current.add(part);
        setTrouble(undefined);
        show();
      }
      setTrouble(undefined);
      setEnd(which.previous ? "This is the end of the previous run." : "The container has ended.");
    };
    setEnd(undefined);
    read().catch((error) => signal.aborted || setTrouble(error.message));
    return () => ending.abort();
  }, [base, token, hasStarted, run, attempt]);
  const readAgain = () => {
    log.current = createLogLines(MOST_LINES);
    setTrouble(undefined);
    setAttempt(attempt + 1);
  };
  const toEnd = () => {
    const element = frame.current!;
    element.scrollTop = element.scrollHeight;
  };
  useLayoutEffect(() => {
    if (isAtEnd) toEnd();
  }, [lines, words]);
  const download = async () => {
    try {
      const parts: string[] = [];
      const ending = new AbortController();
      for await (const part of logOf(base, token, { ...which, follow: false }, ending.signal)) parts.push(part);
      saveAs(`${which.pod}${which.container ? `-${which.container}` : ""}.log`, new Blob(parts));
    } catch (error) {
      setTrouble((error as Error).message);
    }
  };
  const wanted = words.toLowerCase();
  const shown = wanted === "" ? lines : lines.filter(({ text }) => text.toLowerCase().includes(wanted));
  return (
    <>
      <div class="actions">
        <input
          type="search"
          aria-label="Search the log"
          placeholder="Search"
          value={words}
          onInput={({ currentTarget }) => setWords(currentTarget.value)}
        />
        {wanted !== "" && <span role="status">{shown.length} of {lines.length} lines</span>}
        <button type="button" onClick={download}>Download</button>
        {!isAtEnd && <button type="button" onClick={toEnd}>Go to the end</button>}
      </div>
      <div
        ref={frame}
        class="log"
        role="log"
        aria-label="Log"
        tabIndex={0}
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) =>
          setAtEnd(scrollHeight - scrollTop - clientHeight < NEAR)}
      >
        {shown.map(({ id, parts }) => (
          <div key={id}>
            {parts.map(({ text, color, background, classes }, index) =>
              color || background || classes
                ? <span key={index} class={classes} style={{ color, background }}>{text}</span>
                : text
            )}
            {"\n"}
          </div>
        ))}
      </div>
      {lines.length === 0 && !trouble && (
        <p role="status">
          {!hasStarted
            ? "The container has not started."
            : end
            ? "The log is empty."
            : "The container has written nothing yet."}
        </p>
      )}
      <Trouble text={trouble} />
      {trouble && <button type="button" onClick={readAgain}>Read again</button>}
      {end && lines.length > 0 && <p role="status">{end}</p>}
    </>
  );
}

/** A piece of a line in one style. */
interface LogPart {
  text: string;
  /** A CSS colour; undefined: the default, or that of a class. */
  color?: string | undefined;
  background?: string | undefined;
  classes?: string;
}

/** A line without control sequences. */
interface LogLine {
  /** Differs from those of all other lines of the log. */
  id: number;
  text: string;
  parts: LogPart[];
}

/** The end of a log, as lines with their colours. */
interface LogLines {
  add(text: string): void;
  /** The last lines, the oldest first. An incomplete line at the end is one of them. */
  lines(): readonly LogLine[];
}

/** Control sequences other than colours: cursor movements, titles, character sets. The parser would take them for text. */
// deno-lint-ignore no-control-regex
const OTHER_SEQUENCES = /\x1b(?:\[[0-?]*[ -/]*[@-ln-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-B]|[=>78cDEHM])/g;
// deno-lint-ignore no-control-regex
const ANY_SEQUENCE = /\x1b\[[0-?]*[ -/]*[@-~]?|\x1b/g;

const textOf = (raw: string) => raw.replace(OTHER_SEQUENCES, "").replace(ANY_SEQUENCE, "");

/**
 * Splits a line at carriage returns, after which a terminal overwrites it. Of a progress, whose texts have the same
 * letters, only the last one is a line. Anything else would hide what was written before.
 */
function linesIn(raw: string): string[] {
  const parts = raw.split("\r").filter((part) => part !== "");
  const written = parts.length > 0 ? parts : [""];
  const letters = written.map((part) => textOf(part).replace(/\P{L}/gu, ""));
  return written.filter((_, at) => letters[at] !== letters[at + 1]);
}

/** Splits the text of a log into lines with colours. @param most number of lines that are kept */
export function createLogLines(most: number): LogLines {
  // Keeps its state from line to line: a colour holds until it is reset.
  const parser = createAnsiSequenceParser();
  const palette = createColorPalette();
  let lines: LogLine[] = [];
  let rest = "";
  let next = 0;
  const cssOf = (color: Color | null) => color === null || color.type === "named" ? undefined : palette.value(color);
  const isSame = (a: Color, b: Color | null) => b !== null && palette.value(a) === palette.value(b);
  const lineOf = (raw: string): LogLine => {
    const written = raw.replace(OTHER_SEQUENCES, "");
    // `ESC[m` means `ESC[0m`, which the parser does not know.
    const tokens = parser.parse(written.replaceAll("\x1b[m", "\x1b[0m"));
    const parts = tokens.map(({ value, decorations, ...colors }): LogPart => {
      // A log may hide text from people who read it, which a viewer must not do.
      const isHidden = colors.foreground !== null && isSame(colors.foreground, colors.background);
      const { foreground, background } = isHidden ? { foreground: null, background: null } : colors;
      const named = [
        ...foreground?.type === "named" ? [`ansi-${foreground.name}`] : [],
        ...background?.type === "named" ? [`ansi-on-${background.name}`] : [],
        ...[...decorations].flatMap((one) => one === "hidden" ? [] : `ansi-${one}`),
      ];
      const text = value.replace(ANY_SEQUENCE, "");
      return {
        text,
        color: cssOf(foreground),
        background: cssOf(background),
        ...named.length > 0 ? { classes: named.join(" ") } : {},
      };
    });
    return { id: next++, text: parts.map(({ text }) => text).join(""), parts };
  };
  return {
    add(text) {
      const all = (rest + text).split("\n");
      rest = all.pop() ?? "";
      // Only complete lines are parsed: a sequence may be cut in two.
      lines = [...lines, ...all.flatMap(linesIn).map(lineOf)].slice(-most);
    },
    lines() {
      if (rest === "") return lines;
      return [...lines, ...linesIn(rest).map(textOf).map((text, at) => ({ id: -1 - at, text, parts: [{ text }] }))];
    },
  };
}
