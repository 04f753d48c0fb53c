/** Untrusted text: shown literally, never as markup, and isolated from its surroundings. */

import { common as t } from "../text/en/common";
import { Fragment, type ReactNode, useState } from "react";

// Invisible characters and those that change text direction are shown by code point. Joiners stay
// where scripts need them.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|(?<=[\u0000-\u024f]|^)[\u200c\u200d]|[\u200c\u200d](?=[\u0000-\u024f]|$)|[\u{e0000}-\u{e007f}]/gu;
const TEXT_MAX = 600;
const LABEL_MAX = 160;

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Text for places that take no elements, such as a title. */
export function plainText(text: string, maxLength = LABEL_MAX): string {
  const cut = text.length > maxLength ? `${cutAt(text, maxLength)}…` : text;
  return cut.replace(HIDDEN, (found) => `[${codePoint(found)}]`);
}

function cutAt(text: string, maxLength: number): string {
  const last = text.charCodeAt(maxLength - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? maxLength - 1 : maxLength);
}

/** The text itself where it has nothing hidden, which is fast to show. */
function markHidden(text: string): ReactNode {
  if (text.search(HIDDEN) < 0) return text;
  const parts: (string | { hidden: string })[] = [];
  let from = 0;
  for (const found of text.matchAll(HIDDEN)) {
    parts.push(text.slice(from, found.index), { hidden: found[0] });
    from = found.index + found[0].length;
  }
  parts.push(text.slice(from));
  return parts.map((part, index) =>
    typeof part === "string" ? (
      <Fragment key={index}>{part}</Fragment>
    ) : (
      <span key={index} className="hidden-character" title={t("hiddenCharacter")}>
        {codePoint(part.hidden)}
      </span>
    ),
  );
}

/** A short text, cut at `maxLength`. */
export function Label({
  text,
  maxLength = LABEL_MAX,
  className = "",
}: {
  text: string;
  maxLength?: number;
  className?: string;
}) {
  const cut = text.length > maxLength;
  return (
    <bdi className={`label ${className}`} {...(cut ? { title: plainText(text, 2_000) } : {})}>
      {markHidden(cut ? `${cutAt(text, maxLength)}…` : text)}
    </bdi>
  );
}

/** A text of any length; a button shows the rest of a long one. */
export function Text({ text }: { text: string }) {
  const [whole, setWhole] = useState(false);
  if (text === "") return <span className="muted">{t("empty")}</span>;
  if (text.length <= TEXT_MAX) return <bdi className="text">{markHidden(text)}</bdi>;
  return (
    <>
      <bdi className="text">{markHidden(whole ? text : `${cutAt(text, TEXT_MAX)}…`)}</bdi>{" "}
      <button type="button" className="link" onClick={() => setWhole(!whole)}>
        {whole ? t("showLess") : t("showAll", { count: text.length })}
      </button>
    </>
  );
}
