/** Small parts of the panel: links to objects, commands and texts that can be copied, sections that open. @module */
/// <reference lib="dom" />
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ObjectRef } from "../api/diagnosis/finding.ts";
import { lackedRight } from "../api/diagnosis/messages.ts";
import { addressOf, LISTS, routeOf } from "./route.ts";
import { beforeLeaving } from "./unsaved.ts";

/** Returns the address of an object's panel; undefined: its kind has no panel. */
export function addressOfObject({ kind, namespace, name }: ObjectRef): string | undefined {
  const list = LISTS.find((one) => one.kind === kind);
  if (list === undefined || namespace === undefined) return undefined;
  const shown = routeOf(location.hash).namespace;
  return addressOf({ ...routeOf(""), list, namespace: shown, open: { namespace, name } });
}

/** The name of an object: a link if its kind has a panel. @param children the text of the link; default: its name */
export function ObjectLink({ of, children = of.name }: { of: ObjectRef; children?: ComponentChildren }) {
  const address = addressOfObject(of);
  return address === undefined ? <span>{children}</span> : <a href={address}>{children}</a>;
}

/** A button that copies a text to the clipboard. @param what what is copied, for screen readers */
export function Copy({ text, what }: { text: string; what: string }) {
  const [answer, setAnswer] = useState("");
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (answer === "") return;
    const timer = setTimeout(() => setAnswer(""), 2000);
    return () => clearTimeout(timer);
  }, [answer]);
  return (
    <button
      ref={button}
      type="button"
      class="copy"
      aria-label={`Copy ${what}`}
      onClick={async () => setAnswer(await copyText(text, button.current!) ? "Copied" : "Select and copy by hand")}
    >
      <span aria-live="polite">{answer || "Copy"}</span>
    </button>
  );
}

/** Copies a text. @param near an element of the same dialog or page. @returns whether the browser has copied it */
async function copyText(text: string, near: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without HTTPS, or without the permission, browsers only copy what is selected.
    const area = document.createElement("textarea");
    area.value = text;
    near.after(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    near.focus();
    return isCopied;
  }
}

const HOUR_MS = 3_600_000;
/** The lifetimes that forms offer. */
export const PERIODS = [
  { length: "1 hour", ms: HOUR_MS },
  { length: "8 hours", ms: 8 * HOUR_MS },
  { length: "1 day", ms: 24 * HOUR_MS },
  { length: "7 days", ms: 168 * HOUR_MS },
];

/** Matches a command: up to the end of its clause or sentence. */
const COMMAND =
  /\b(?:kubectl (?=[a-z])|hookbox (?=install|doctor|open|project))(?:'[^']*'|[^\s,;()'".]|[,.](?=\S)| (?!(?:or|and|in|to|for|of) )(?=\S))+/g;

/** Splits a sentence into text and commands, in order. Pure. */
export function commandsIn(sentence: string): { text: string; isCommand: boolean }[] {
  const parts: { text: string; isCommand: boolean }[] = [];
  let end = 0;
  for (const { 0: text, index } of sentence.matchAll(COMMAND)) {
    if (index > end) parts.push({ text: sentence.slice(end, index), isCommand: false });
    parts.push({ text, isCommand: true });
    end = index + text.length;
  }
  if (end < sentence.length) parts.push({ text: sentence.slice(end), isCommand: false });
  return parts;
}

/** A sentence whose commands can be copied. */
export function WithCommands({ text }: { text: string }) {
  return (
    <>
      {commandsIn(text).map(({ text, isCommand }) =>
        isCommand
          ? (
            <span key={text} class="command">
              <code>{text}</code>
              <Copy text={text} what="the command" />
            </span>
          )
          : text
      )}
    </>
  );
}

/** The frame of a panel. Escape closes it. @param kind what is open, and where */
export function Panel(
  { name, kind, onClose, children }: { name: string; kind: string; onClose(): void; children: ComponentChildren },
) {
  const heading = useRef<HTMLHeadingElement>(null);
  // Before the panel is painted, so that all keys from then on go to the panel.
  useLayoutEffect(() => heading.current?.focus(), []);
  const close = ({ key, target, defaultPrevented }: KeyboardEvent) =>
    key === "Escape" && !defaultPrevented && !(target as Element).closest("dialog, .terminal, textarea") && onClose();
  return (
    <aside aria-label={name} onKeyDown={close}>
      <div class="bar">
        <h2 ref={heading} tabIndex={-1}>{name}</h2>
        <button type="button" aria-label="Close" onClick={onClose}>×</button>
      </div>
      <p class="kind">{kind}</p>
      {children}
    </aside>
  );
}

/** A section whose contents exist only while it is open. */
export function Fold({ title, children }: { title: string; children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  const details = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (isOpen) details.current!.scrollIntoView({ block: "start" });
  }, [isOpen]);
  const toggle = (event: Event) => {
    if (!isOpen) return;
    event.preventDefault();
    beforeLeaving(() => setOpen(false), details.current!);
  };
  return (
    <details
      ref={details}
      class="fold"
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary onClick={toggle}>{title}</summary>
      {isOpen && children}
    </details>
  );
}

/** A dialog that is open while it is mounted. Escape and a button close it. */
export function Dialog(
  { title, onClose, children }: { title: string; onClose(): void; children: ComponentChildren },
) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    const element = dialog.current!;
    element.showModal();
    return () => {
      // A dialog that is removed while it is open leaves the focus on the page's body. Once it is closed, the user may
      // have gone on to something else.
      if (element.open || document.activeElement === document.body) before?.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} class="ask" aria-label={title} onClose={onClose}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}

/** Says which ClusterRole has a right that the API server found missing; undefined: the error is another one. Pure. */
export function adviceOf(message: string): string | undefined {
  const lacked = lackedRight(message);
  if (lacked === undefined) return undefined;
  const role = /^(?:get|list|watch) /.test(lacked.right) ? "hookbox-view" : "hookbox-edit";
  const [, namespace] = /in the namespace "([^"]+)"/.exec(message) ?? [];
  const [kind, where] = namespace === undefined ? ["clusterrolebinding", ""] : ["rolebinding", ` -n ${namespace}`];
  return `ClusterRole ${role} has this right. An administrator can grant it: ` +
    `kubectl create ${kind} NAME --clusterrole=${role} --user=${lacked.account}${where}.`;
}

/**
 * Shows an error completely, with what to do if a right is missing. Nothing if there is none.
 *
 * @param isForeign the text may contain names or answers of a sandbox, which could look like advice to run a command
 */
export function Trouble({ text, isForeign = false }: { text: string | undefined; isForeign?: boolean }) {
  if (text === undefined) return null;
  if (isForeign) return <p role="alert" class="whole">{text}</p>;
  const advice = adviceOf(text);
  return (
    <div role="alert" class="whole">
      <WithCommands text={text} />
      {advice && (
        <p>
          <WithCommands text={advice} />
        </p>
      )}
    </div>
  );
}

// deno-lint-ignore no-control-regex -- it matches what must be escaped
const UNSEEN = /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * Returns a name with escapes such as `\u202e` for control characters and for characters that change the direction of
 * text: with them, `exe.txt` can look like `txt.exe`. Pure.
 */
export function visible(name: string): string {
  return name.replace(UNSEEN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Offers bytes as a file that the browser saves. */
export function saveAs(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
