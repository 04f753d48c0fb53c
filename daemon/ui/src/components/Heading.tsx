/** The breadcrumbs and the heading of a page. */

import { type ReactNode, useEffect, useRef } from "react";
import { setTitlePage } from "../state/title";
import { Icon } from "./Icon";
import { Label, plainText } from "./Text";
import { common as t } from "../text/en/common";

/** Takes the focus after navigation, so that screen readers announce the page. */
export function Heading({
  title,
  children,
  name,
}: {
  title: string;
  children?: ReactNode;
  name?: ReactNode;
}) {
  const ref = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    setTitlePage(plainText(title, 80));
  }, [title]);
  useEffect(() => {
    if (document.activeElement === null || document.activeElement === document.body)
      ref.current?.focus({ preventScroll: true });
  }, []);
  return (
    <header className="heading">
      <h1 ref={ref} tabIndex={-1}>
        {name ?? title}
      </h1>
      {children}
    </header>
  );
}

/** Links to the list that a page belongs to, and to related pages. */
export function Breadcrumbs({
  href,
  text,
  children,
}: {
  href: string;
  text: string;
  children?: ReactNode;
}) {
  return (
    <nav className="crumbs" aria-label={t("breadcrumb")}>
      <a href={href}>
        <Icon name="back" size={16} /> {text}
      </a>
      {children}
    </nav>
  );
}

/** The title of a page about a run: “REF-2002 · Refund”. */
export function titled(title: string, key: string | null): string {
  return key === null ? title : `${key} · ${title}`;
}

/** The business key of a run, beside what its page is about. */
export function BusinessKey({ of }: { of: { business_key: string | null } }) {
  if (of.business_key === null) return null;
  return (
    <>
      {" "}
      <span className="business-key">
        <Label text={of.business_key} maxLength={200} />
      </span>
    </>
  );
}
