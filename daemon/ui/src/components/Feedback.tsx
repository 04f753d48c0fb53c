/** Loading, empty and error states, and notes. */

import type { ReactNode } from "react";
import type { Problem } from "../api/client";
import { Icon, type IconName } from "./Icon";
import { Label } from "./Text";
import { common as t } from "../text/en/common";

export function EmptyState({
  icon,
  title,
  children,
}: {
  icon: IconName;
  title: string;
  children?: ReactNode;
}) {
  return (
    <div className="empty">
      <Icon name={icon} size={32} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Why loading failed, and what the user can do. */
export function LoadError({ problem, retry }: { problem: Problem; retry?: () => void }) {
  const away = problem.code === "offline" || problem.status === 503;
  const missing = problem.status === 404;
  return (
    <div className="empty" role="alert">
      <Icon name={away ? "clock" : "info"} size={32} />
      <h2>{away ? t("unavailable") : missing ? t("notFound") : t("requestFailed")}</h2>
      <p>{missing ? t("removedOrWrong") : problem.message}</p>
      {retry !== undefined && !missing && (
        <button type="button" className="button" onClick={retry}>
          {t("tryAgain")}
        </button>
      )}
      {missing && (
        <a className="button" href="#/">
          {t("goToInbox")}
        </a>
      )}
    </div>
  );
}

export function Loading({ rows = 4, what = t("loading") }: { rows?: number; what?: string }) {
  return (
    <div className="skeleton" role="status" aria-label={what}>
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} className="skeleton-row" />
      ))}
    </div>
  );
}

export function Note({
  kind,
  title,
  children,
}: {
  kind: "info" | "good" | "warn" | "bad";
  title: string;
  children?: ReactNode;
}) {
  const icons = { info: "info", good: "done", warn: "high", bad: "failed" } as const;
  return (
    <div
      className={`note note-${kind}`}
      role={kind === "bad" || kind === "warn" ? "alert" : "status"}
    >
      <Icon name={icons[kind]} size={20} />
      <div>
        <strong>
          <Label text={title} maxLength={500} />
        </strong>
        {children}
      </div>
    </div>
  );
}
