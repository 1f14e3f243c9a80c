/** Shows a file of a sandbox as text or as an image, and edits text. @module */
/// <reference lib="dom" />
import { useEffect, useRef, useState } from "preact/hooks";
import type { Entry } from "../sdk/files/entry.ts";
import type { SandboxHandle } from "../sdk/sandbox.ts";
import { bytesText } from "./overview.tsx";
import { Dialog, Trouble, visible } from "./parts.tsx";
import { useUnsaved } from "./unsaved.ts";

/** Largest file that the page shows, in bytes. */
const MOST_BYTES = 2 << 20;

/** SVG is shown as text: a small one can keep the browser busy without end. */
const IMAGE = /\.(?:png|jpe?g|gif|webp|avif|bmp|ico)$/i;

/** What the viewer shows. */
type Content = { text: string } | { image: string } | { why: string };

/** Shows a file as text or as an image. Text can be edited. */
export function Viewer(
  { handle: { files }, entry, onDownload, onClose }: {
    handle: SandboxHandle;
    entry: Entry;
    onDownload(): void;
    onClose(): void;
  },
) {
  const [content, setContent] = useState<Content>();
  const [draft, setDraft] = useState<string>();
  const [saved, setSaved] = useState("");
  const [trouble, setTrouble] = useState<string>();
  const [discarding, setDiscarding] = useState<{ onDiscard(): void }>();
  const known = useRef(entry);
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    let isOver = false;
    let url: string | undefined;
    const read = async () => {
      const found = await contentOf(files, entry);
      if ("image" in found) url = found.image;
      if (isOver && url !== undefined) URL.revokeObjectURL(url);
      if (!isOver) setContent(found);
    };
    read().catch((error) => setTrouble(error.message));
    return () => {
      isOver = true;
      if (url !== undefined) URL.revokeObjectURL(url);
    };
  }, []);
  const save = async () => {
    try {
      const { modifiedAt, size } = await files.stat(entry.path);
      if (modifiedAt.getTime() !== known.current.modifiedAt.getTime() || size !== known.current.size) {
        known.current = { ...known.current, modifiedAt, size };
        setTrouble("The sandbox has changed the file since you opened it. Save again to replace that version.");
        return;
      }
      const text = (draft ?? "").replaceAll("\n", lineEnd);
      await files.write(entry.path, text);
      known.current = await files.stat(entry.path);
      setContent({ text });
      setDraft(undefined);
      setTrouble(undefined);
      setSaved("Saved.");
    } catch (error) {
      setTrouble((error as Error).message);
    }
  };
  const text = content !== undefined && "text" in content ? content.text : undefined;
  // Browsers write all line ends of a textarea as "\n".
  const lineEnd = text?.includes("\r\n") ? "\r\n" : "\n";
  const canEdit = text !== undefined && text.replaceAll(lineEnd, "").search(/[\r\n]/) < 0;
  const hasChanges = draft !== undefined && draft !== text?.replaceAll("\r\n", "\n");
  useUnsaved(section, hasChanges, (onDiscard) => setDiscarding({ onDiscard }));
  const keep = () => setDiscarding(undefined);
  const discard = () => {
    keep();
    setDraft(undefined);
    discarding?.onDiscard();
  };
  return (
    <section ref={section} aria-label={visible(entry.name)}>
      <div class="actions">
        <b>{visible(entry.name)}</b>
        <span class="faint">{bytesText(entry.size)}, changed {entry.modifiedAt.toLocaleString()}</span>
        {text !== undefined && !canEdit && <span class="faint">Read only: its line ends differ.</span>}
        {canEdit && draft === undefined && (
          <button
            type="button"
            onClick={() => {
              setSaved("");
              setDraft(text.replaceAll("\r\n", "\n"));
            }}
          >
            Edit
          </button>
        )}
        {draft !== undefined && <button type="button" onClick={save}>Save</button>}
        {draft !== undefined && <button type="button" onClick={() => setDraft(undefined)}>Discard</button>}
        <button type="button" onClick={onDownload}>Download</button>
        <button type="button" onClick={onClose}>Back to the folder</button>
      </div>
      {discarding && (
        <Dialog title={`Discard the changes to ${visible(entry.name)}?`} onClose={keep}>
          <p>You have not saved them.</p>
          <div class="actions">
            <button type="button" autofocus onClick={keep}>Keep editing</button>
            <button type="button" class="danger" onClick={discard}>Discard</button>
          </div>
        </Dialog>
      )}
      <Trouble text={trouble} isForeign />
      {saved && <p role="status">{saved}</p>}
      {content === undefined && !trouble && <p role="status">Reading…</p>}
      {draft !== undefined
        ? (
          <textarea
            aria-label={`Content of ${visible(entry.name)}`}
            spellcheck={false}
            rows={20}
            value={draft}
            onInput={({ currentTarget }) => setDraft(currentTarget.value)}
          />
        )
        : content && ("text" in content
          ? <pre tabIndex={0}>{content.text || "(empty)"}</pre>
          : "image" in content
          ? <img class="view" src={content.image} alt={visible(entry.name)} />
          : <p>{content.why}</p>)}
    </section>
  );
}

/** Reads a file for the viewer. */
async function contentOf(files: SandboxHandle["files"], { name, path, size }: Entry): Promise<Content> {
  if (size > MOST_BYTES) {
    return { why: `The file has ${bytesText(size)}. The page shows files up to ${bytesText(MOST_BYTES)}.` };
  }
  // Not "text": that would replace bytes that are no text, and saving would lose them.
  const bytes = await files.read(path, { format: "bytes", length: MOST_BYTES });
  if (IMAGE.test(name)) return { image: URL.createObjectURL(new Blob([bytes])) };
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    if (!text.includes("\0")) return { text };
  } catch {
    // Not text.
  }
  return { why: "The file is neither text nor an image. You can download it." };
}
