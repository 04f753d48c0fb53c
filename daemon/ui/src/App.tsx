/** The page as a whole: who is signed in, and which part is shown. */

import { Component, type ReactNode, useLayoutEffect } from "react";
import { EmptyState, LoadError, Loading } from "./components/Feedback";
import { Heading } from "./components/Heading";
import { Layout } from "./components/Layout";
import { AuditPage } from "./pages/audit/AuditPage";
import { ConnectorPage } from "./pages/connectors/ConnectorPage";
import { ConnectorsPage } from "./pages/connectors/ConnectorsPage";
import { GatePage } from "./pages/gate/GatePage";
import { InboxPage } from "./pages/InboxPage";
import { RunPage } from "./pages/runs/RunPage";
import { RunsPage } from "./pages/runs/RunsPage";
import { SignInPage } from "./pages/SignInPage";
import { TemplatePage } from "./pages/templates/TemplatePage";
import { TemplatesPage } from "./pages/templates/TemplatesPage";
import { useRoute } from "./state/router";
import { loadSession, useSession } from "./state/session";

export function App() {
  const session = useSession();
  const place = useRoute();
  const address = place.path.join("/");
  // Before the heading of the new part looks whether it may take the focus.
  useLayoutEffect(() => {
    window.scrollTo(0, 0);
    (document.activeElement as HTMLElement | null)?.blur();
  }, [address]);
  if (session.state === "unknown") {
    return (
      <main className="alone">
        {session.problem === null ? <Loading what="Starting" rows={3} /> : <LoadError problem={session.problem} retry={() => void loadSession()} />}
      </main>
    );
  }
  if (session.state === "out") return <SignInPage ended={session.ended} />;
  return (
    <Layout place={place.path[2] === "gates" ? "" : (place.path[0] ?? "")}>
      <ErrorBoundary key={address}>{page(place.path)}</ErrorBoundary>
    </Layout>
  );
}

function page(path: string[]): ReactNode {
  const [first, second, third, fourth] = path;
  // A browser takes these out of an address before it asks for it, so they lead elsewhere.
  if (path.some((one) => one === "." || one === "..")) return <NotFound />;
  if (first === undefined) return <InboxPage />;
  if (first === "runs" && second !== undefined && third === "gates" && fourth !== undefined) return <GatePage run={second} step={fourth} />;
  if (first === "runs") return second === undefined ? <RunsPage /> : <RunPage id={second} />;
  if (first === "templates") return second === undefined ? <TemplatesPage /> : <TemplatePage vertical={second} />;
  if (first === "connectors") return second === undefined ? <ConnectorsPage /> : <ConnectorPage tool={second} />;
  if (first === "audit") return <AuditPage />;
  return <NotFound />;
}

function NotFound() {
  return (
    <>
      <Heading title="There is nothing here" />
      <EmptyState icon="search" title="Check the address">
        <a className="button" href="#/">
          Go to the inbox
        </a>
      </EmptyState>
    </>
  );
}

/** A part that breaks does not take the rest of the page with it. */
class ErrorBoundary extends Component<{ children: ReactNode }, { broken: boolean }> {
  override state = { broken: false };

  static getDerivedStateFromError() {
    return { broken: true };
  }

  override render() {
    if (!this.state.broken) return this.props.children;
    return (
      <EmptyState icon="failed" title="This part of the page broke">
        <p>Nothing was decided or changed by that. Load the page again; if it stays, tell whoever runs the service.</p>
        <button type="button" className="button" onClick={() => location.reload()}>
          Load the page again
        </button>
      </EmptyState>
    );
  }
}
