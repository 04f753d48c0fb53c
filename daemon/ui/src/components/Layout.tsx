/** The frame of every page: navigation, connection state and account menu. */

import { type ReactNode, useState } from "react";
import { toProblem } from "../api/client";
import { useConnectionState, usePeopleChanges } from "../api/eventStream";
import { useGateCount, useGateCountUpdates } from "../state/inbox";
import { useChangeCount, useChangesUpdates } from "../state/changes";
import { dismissLostHistory, useLostHistory } from "../state/lostHistory";
import { useMembersUpdates } from "../state/members";
import { refreshAccount, signOut, switchCompany, useAccount } from "../state/session";
import { setTheme, storedTheme } from "../state/theme";
import { common as t } from "../text/en/common";
import { formatTime, roleLabel } from "../text/labels";
import { Brand, Icon } from "./Icon";
import { LanguageSwitch } from "./LanguageSwitch";
import { NotificationSwitch } from "./NotificationSwitch";
import { CommandPalette } from "./palette/CommandPalette";
import { Label } from "./Text";

const NAVIGATION = [
  { id: "", page: "inbox", icon: "inbox" },
  { id: "runs", page: "runs", icon: "runs" },
  { id: "actions", page: "actions", icon: "actions" },
  { id: "templates", page: "templates", icon: "templates" },
  { id: "connectors", page: "connectors", icon: "connectors" },
  { id: "people", page: "people", icon: "gate" },
  { id: "dashboard", page: "dashboard", icon: "dashboard" },
  { id: "audit", page: "audit", icon: "audit" },
] as const;
const THEMES = [
  { id: "auto", icon: "auto" },
  { id: "light", icon: "sun" },
  { id: "dark", icon: "moon" },
] as const;

export function Layout({ section, children }: { section: string; children: ReactNode }) {
  const connection = useConnectionState();
  const lost = useLostHistory();
  useGateCountUpdates();
  useMembersUpdates();
  useChangesUpdates();
  usePeopleChanges(() => void refreshAccount());
  return (
    <>
      <a
        className="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        {t("skip")}
      </a>
      <header className="top">
        <a className="brand" href="#/">
          <Brand />
          Penstock
        </a>
        <nav aria-label={t("main")}>
          {NAVIGATION.map((page) => (
            <a
              key={page.id}
              href={`#/${page.id}`}
              {...(section === page.id ? { "aria-current": "page" as const } : {})}
            >
              <Icon name={page.icon} size={20} />
              <span>{t(`nav.${page.page}`)}</span>
              {page.id === "" && <OpenGateCount />}
              {page.id === "people" && <ChangeCount />}
            </a>
          ))}
        </nav>
        <CommandPalette />
        <AccountMenu />
      </header>
      <div className="banners">
        {connection === "broken" && (
          <div className="offline" role="status">
            <Icon name="clock" size={16} /> {t("connectionLost")}
          </div>
        )}
        {lost.since !== null && <LostHistoryBanner since={lost.since} />}
      </div>
      {/* After a loss everything is loaded anew. */}
      <main key={lost.times} id="main" tabIndex={-1}>
        {children}
      </main>
    </>
  );
}

function LostHistoryBanner({ since }: { since: string }) {
  return (
    <div className="offline lost" role="alert">
      <span>
        <strong>{t("historyLost")}</strong>{" "}
        {since === "" ? t("lookAgain") : t("lookAgainSince", { time: formatTime(since) })}
      </span>
      <button type="button" className="button" onClick={dismissLostHistory}>
        {t("dismiss")}
      </button>
    </div>
  );
}

function OpenGateCount() {
  return <Count count={useGateCount()?.mine ?? 0} />;
}

function ChangeCount() {
  return <Count count={useChangeCount()} />;
}

function Count({ count }: { count: number }) {
  if (count === 0) return null;
  return (
    <span className="count">
      {count > 999 ? "999+" : count}
      <span className="visually-hidden">{t("waitingAfter")}</span>
    </span>
  );
}

/** The other companies of a person of several. */
function CompanySwitch({ onFailed }: { onFailed: (why: string) => void }) {
  const account = useAccount();
  const others = account.companies.filter((one) => one.id !== account.company.id);
  if (others.length === 0) return null;
  return (
    <fieldset className="companies">
      <legend>{t("otherCompanies")}</legend>
      {others.map((one) => (
        <button
          key={one.id}
          type="button"
          className="button"
          onClick={() =>
            void switchCompany(one.id).catch((error: unknown) => onFailed(toProblem(error).message))
          }
        >
          <Label text={one.name} maxLength={40} /> ({roleLabel(one.role)})
        </button>
      ))}
    </fieldset>
  );
}

function AccountMenu() {
  const account = useAccount();
  const [open, setOpen] = useState(false);
  return (
    <details
      className="account-menu"
      onToggle={(event) => setOpen(event.currentTarget.open)}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.currentTarget.open = false;
        event.currentTarget.querySelector("summary")?.focus();
      }}
      onBlur={(event) => {
        if (
          event.relatedTarget instanceof Node &&
          !event.currentTarget.contains(event.relatedTarget)
        )
          event.currentTarget.open = false;
      }}
    >
      <summary>
        <span className="avatar" aria-hidden="true">
          {Array.from(account.user.name ?? account.user.email)[0]?.toUpperCase()}
        </span>
        <span className="company">
          <Label text={account.company.name} maxLength={40} />
        </span>
        <span className="person">
          <Label text={account.user.name ?? account.user.email} maxLength={40} />
        </span>
        <span className="visually-hidden">{t("yourAccountAfter")}</span>
      </summary>
      {open && <Menu />}
    </details>
  );
}

function Menu() {
  const account = useAccount();
  const [chosen, setChosen] = useState(storedTheme());
  const [failed, setFailed] = useState("");
  return (
    <div className="menu">
      <p>
        <strong>
          <Label text={account.user.name ?? account.user.email} />
        </strong>
        <br />
        <Label text={account.user.email} />
        <br />
        <span className="muted">
          {t("roleOf", {
            role: roleLabel(account.role),
            name: <Label text={account.company.name} />,
          })}
        </span>
      </p>
      <p>
        <a href="#/account">{t("accountLink")}</a>
        <br />
        <a href="#/notifications">{t("notifications")}</a>
      </p>
      <CompanySwitch onFailed={setFailed} />
      <fieldset className="themes">
        <legend>{t("theme")}</legend>
        {THEMES.map((theme) => (
          <label key={theme.id}>
            <input
              type="radio"
              name="theme"
              checked={chosen === theme.id}
              onChange={() => {
                setTheme(theme.id);
                setChosen(theme.id);
              }}
            />
            <Icon name={theme.icon} size={16} /> {t(`theme.${theme.id}`)}
          </label>
        ))}
      </fieldset>
      <LanguageSwitch />
      <NotificationSwitch />
      {failed !== "" && <p role="alert">{failed}</p>}
      <button
        type="button"
        className="button"
        onClick={() =>
          void signOut().catch((error: unknown) =>
            setFailed(t("stillSignedIn", { message: toProblem(error).message })),
          )
        }
      >
        <Icon name="out" /> {t("signOut")}
      </button>
      <p className="muted small">
        <a href="/docs">{t("apiReference")}</a>
      </p>
    </div>
  );
}
