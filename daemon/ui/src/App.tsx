/** The page as a whole: who is signed in, and which part is shown. */

import { Component, type ReactNode, useLayoutEffect } from "react";
import { Shell } from "./Shell";
import { Empty, Heading, Loading, Trouble } from "./parts/Bits";
import { AuditPage } from "./pages/Audit";
import { ConnectorPage } from "./pages/Connector";
import { ConnectorsPage } from "./pages/Connectors";
import { GatePage } from "./pages/Gate";
import { InboxPage } from "./pages/Inbox";
import { RunPage } from "./pages/Run";
import { RunsPage } from "./pages/Runs";
import { SignInPage } from "./pages/SignIn";
import { TemplatePage } from "./pages/Template";
import { TemplatesPage } from "./pages/Templates";
import { usePlace } from "./router";
import { recall, useSession } from "./session";

export function App() {
  const session = useSession();
  const place = usePlace();
  const address = place.path.join("/");
  // Before the heading of the new part looks whether it may take the focus.
  useLayoutEffect(() => {
    window.scrollTo(0, 0);
    (document.activeElement as HTMLElement | null)?.blur();
  }, [address]);
  if (session.state === "unknown") {
    return (
      <main className="alone">
        {session.problem === null ? <Loading what="Starting" rows={3} /> : <Trouble problem={session.problem} retry={() => void recall()} />}
      </main>
    );
  }
  if (session.state === "out") return <SignInPage ended={session.ended} />;
  return (
    <Shell place={place.path[2] === "gates" ? "" : (place.path[0] ?? "")}>
      <Guard key={address}>{part(place.path)}</Guard>
    </Shell>
  );
}

function part(path: string[]): ReactNode {
  const [first, second, third, fourth] = path;
  // A browser takes these out of an address before it asks for it, so they lead elsewhere.
  if (path.some((one) => one === "." || one === "..")) return <Nowhere />;
  if (first === undefined) return <InboxPage />;
  if (first === "runs" && second !== undefined && third === "gates" && fourth !== undefined) return <GatePage run={second} step={fourth} />;
  if (first === "runs") return second === undefined ? <RunsPage /> : <RunPage id={second} />;
  if (first === "templates") return second === undefined ? <TemplatesPage /> : <TemplatePage vertical={second} />;
  if (first === "connectors") return second === undefined ? <ConnectorsPage /> : <ConnectorPage tool={second} />;
  if (first === "audit") return <AuditPage />;
  return <Nowhere />;
}

function Nowhere() {
  return (
    <>
      <Heading title="There is nothing here" />
      <Empty icon="search" title="The address may have a mistake">
        <a className="button" href="#/">
          Go to the inbox
        </a>
      </Empty>
    </>
  );
}

/** A part that breaks does not take the rest of the page with it. */
class Guard extends Component<{ children: ReactNode }, { broken: boolean }> {
  override state = { broken: false };

  static getDerivedStateFromError() {
    return { broken: true };
  }

  override render() {
    if (!this.state.broken) return this.props.children;
    return (
      <Empty icon="failed" title="This part of the page broke">
        <p>Nothing was decided or changed by that. Load the page again; if it stays, tell whoever runs the service.</p>
        <button type="button" className="button" onClick={() => location.reload()}>
          Load the page again
        </button>
      </Empty>
    );
  }
}
