/** Session state and routing. */

import { Component, lazy, type ReactNode, Suspense, useEffect, useLayoutEffect } from "react";
import { EmptyState, LoadError, Loading } from "./components/Feedback";
import { Heading } from "./components/Heading";
import { Layout } from "./components/Layout";
import { InboxPage } from "./pages/inbox/InboxPage";
import { RunsPage } from "./pages/runs/RunsPage";
import { SignInPage } from "./pages/SignInPage";
import { Clock } from "./state/now";
import { useRoute } from "./state/router";
import { loadSession, useSession } from "./state/session";
import { useLanguage } from "./text/locale";
import { common as t } from "./text/en/common";

// What the lists do not need comes when it is opened; what deciding needs, once they are shown.
const gatePage = () => import("./pages/gate/GatePage");
const runPage = () => import("./pages/runs/RunPage");
const GatePage = lazy(gatePage);
const RunPage = lazy(runPage);
const AccountPage = lazy(() => import("./pages/account/AccountPage"));
const ActionsPage = lazy(() => import("./pages/actions/ActionsPage"));
const AuditPage = lazy(() => import("./pages/audit/AuditPage"));
const AutonomyPage = lazy(() => import("./pages/autonomy/AutonomyPage"));
const ConnectorPage = lazy(() => import("./pages/connectors/ConnectorPage"));
const ConnectorsPage = lazy(() => import("./pages/connectors/ConnectorsPage"));
const Dashboard = lazy(() => import("./pages/dashboard/Dashboard"));
const InvitationPage = lazy(() => import("./pages/people/InvitationPage"));
const NotificationsPage = lazy(() => import("./pages/notifications/NotificationsPage"));
const PeoplePage = lazy(() => import("./pages/people/PeoplePage"));
const ResetPage = lazy(() => import("./pages/people/ResetPage"));
const ChangesPage = lazy(() => import("./pages/people/ChangesPage"));
const ReadersPage = lazy(() => import("./pages/people/ReadersPage"));
const ComparePage = lazy(() => import("./pages/templates/ComparePage"));
const EditorPage = lazy(() => import("./pages/templates/editor/EditorPage"));
const TemplatePage = lazy(() => import("./pages/templates/TemplatePage"));
const TemplatesPage = lazy(() => import("./pages/templates/TemplatesPage"));

const AHEAD_MS = 1_000;

/** Fetch what deciding needs while the reader looks at a list. */
function fetchAhead() {
  setTimeout(() => {
    // Without them the page that is opened fetches them itself.
    Promise.all([gatePage(), runPage()]).catch(() => undefined);
  }, AHEAD_MS);
}

/** A change of the language builds the page anew, with all texts that were kept. */
export function App() {
  return (
    <Clock key={useLanguage()}>
      <Pages />
    </Clock>
  );
}

function Pages() {
  const session = useSession();
  const route = useRoute();
  const address = route.path.join("/");
  // Runs before the new page's heading checks whether it may take the focus.
  useLayoutEffect(() => {
    window.scrollTo(0, 0);
    (document.activeElement as HTMLElement | null)?.blur();
  }, [address]);
  useEffect(() => {
    if (session.state === "in") fetchAhead();
  }, [session.state]);
  if (session.state === "unknown") {
    return (
      <main className="centered">
        {session.problem === null ? (
          <Loading what={t("starting")} rows={3} />
        ) : (
          <LoadError problem={session.problem} retry={() => void loadSession()} />
        )}
      </main>
    );
  }
  if (route.path[0] === "reset" || route.path[0] === "invitations")
    return (
      <Suspense fallback={<Loading rows={3} />}>
        {route.path[0] === "reset" ? (
          <ResetPage token={route.path[1] ?? ""} />
        ) : (
          <InvitationPage token={route.path[1] ?? ""} />
        )}
      </Suspense>
    );
  if (session.state === "out") return <SignInPage ended={session.ended} />;
  return (
    <Layout section={route.path[2] === "gates" ? "" : (route.path[0] ?? "")}>
      <ErrorBoundary key={address}>
        <Suspense fallback={<Loading rows={6} />}>
          {session.held && route.path[0] !== "account" ? <SecondFactorNeeded /> : page(route.path)}
        </Suspense>
      </ErrorBoundary>
    </Layout>
  );
}

function page(path: string[]): ReactNode {
  const [first, second, third, fourth] = path;
  // A browser resolves these segments before it sends a request, so such an address would lead
  // elsewhere.
  if (path.some((name) => name === "." || name === "..")) return <NotFound />;
  if (first === undefined) return <InboxPage />;
  if (first === "runs" && second !== undefined && third === "gates" && fourth !== undefined)
    return <GatePage run={second} step={fourth} />;
  if (first === "runs") return second === undefined ? <RunsPage /> : <RunPage id={second} />;
  if (first === "templates" && second !== undefined && third === "edit")
    return <EditorPage vertical={second} />;
  if (first === "templates" && second !== undefined && third === "compare")
    return <ComparePage vertical={second} />;
  if (first === "templates")
    return second === undefined ? <TemplatesPage /> : <TemplatePage vertical={second} />;
  if (first === "connectors")
    return second === undefined ? <ConnectorsPage /> : <ConnectorPage tool={second} />;
  if (first === "dashboard") return <Dashboard list={second} />;
  if (first === "actions") return <ActionsPage part={second} />;
  if (first === "audit") return <AuditPage />;
  if (first === "autonomy") return <AutonomyPage />;
  if (first === "people" && second === "changes") return <ChangesPage />;
  if (first === "people" && second === "readers") return <ReadersPage vertical={third ?? ""} />;
  if (first === "people") return <PeoplePage />;
  if (first === "account") return <AccountPage />;
  if (first === "notifications") return <NotificationsPage />;
  return <NotFound />;
}

/** What people see whose company asks for a second factor that they have not. */
function SecondFactorNeeded() {
  return (
    <>
      <Heading title={t("secondFactorNeeded")} />
      <EmptyState icon="info" title={t("companyAsksFactor")}>
        <p>{t("setUpBefore")}</p>
        <a className="button primary" href="#/account">
          {t("setUpFactor")}
        </a>
      </EmptyState>
    </>
  );
}

function NotFound() {
  return (
    <>
      <Heading title={t("pageNotFound")} />
      <EmptyState icon="search" title={t("checkAddress")}>
        <a className="button" href="#/">
          {t("goToInbox")}
        </a>
      </EmptyState>
    </>
  );
}

/** Keeps an error in one page from taking down the frame. */
class ErrorBoundary extends Component<{ children: ReactNode }, { broken: boolean }> {
  override state = { broken: false };

  static getDerivedStateFromError() {
    return { broken: true };
  }

  override render() {
    if (!this.state.broken) return this.props.children;
    return (
      <EmptyState icon="failed" title={t("pageFailed")}>
        <p>{t("nothingChanged")}</p>
        <button type="button" className="button" onClick={() => location.reload()}>
          {t("reload")}
        </button>
      </EmptyState>
    );
  }
}
