/** One connector: where it calls and how, a test, and the switch between shadow and live. */

import { type FormEvent, useState } from "react";
import { get, type Problem, send } from "../api";
import { mistakesOf, takesStoredSecret } from "../connectorRules";
import { asProblem, useLoad } from "../hooks";
import { Heading, Loading, ModeBadge, Note, Trouble, When } from "../parts/Bits";
import { blank, bodyOf, ConnectorFields, type Draft, draftOf } from "../parts/ConnectorFields";
import { Dialog } from "../parts/Dialog";
import { Value } from "../parts/Facts";
import { Icon } from "../parts/Icon";
import { Label, Text } from "../parts/Text";
import { go } from "../router";
import { sentence } from "../sentences";
import type { Connector, Trial } from "../types";

type Stored = { connector: Connector | null };

export function ConnectorPage({ tool }: { tool: string }) {
  const path = `/connectors/${encodeURIComponent(tool)}`;
  const loaded = useLoad(path, async (): Promise<Stored> => {
    try {
      return { connector: await get<Connector>(path) };
    } catch (error) {
      if (asProblem(error).status === 404) return { connector: null };
      throw error;
    }
  });
  if (loaded.value === null) return loaded.problem === null ? <Loading rows={6} /> : <Trouble problem={loaded.problem} retry={loaded.reload} />;
  const stored = loaded.value.connector;
  return <Form tool={tool} path={path} stored={stored} onStored={(connector) => loaded.set({ connector })} />;
}

interface FormProps {
  tool: string;
  path: string;
  stored: Connector | null;
  onStored: (connector: Connector) => void;
}

function Form({ tool, path, stored, onStored }: FormProps) {
  const [draft, setDraft] = useState<Draft>(() => (stored === null ? blank() : draftOf(stored)));
  const [busy, setBusy] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [trial, setTrial] = useState<Trial | null>(null);
  const [asking, setAsking] = useState<"" | "live" | "test" | "remove">("");
  const [saved, setSaved] = useState(false);
  const [mistakes, setMistakes] = useState<Map<string, string>>(new Map());
  const goesLive = draft.reversible && stored?.reversible !== true;

  async function act(what: string, doing: () => Promise<void>) {
    if (busy !== "") return;
    setBusy(what);
    setProblem(null);
    setSaved(false);
    setMistakes(new Map());
    try {
      await doing();
    } catch (error) {
      const refused = asProblem(error);
      setProblem(refused);
      setMistakes(refused.fields);
    }
    setBusy("");
    setAsking("");
  }
  const save = () =>
    act("save", async () => {
      const answer = await send<Connector>("PUT", path, { body: bodyOf(draft) });
      onStored(answer.value);
      setDraft(draftOf(answer.value));
      setSaved(true);
    });
  const test = () =>
    act("test", async () => {
      setTrial(null);
      setTrial((await send<Trial>("POST", `${path}/test`, { body: bodyOf(draft) })).value);
    });
  const remove = () =>
    act("remove", async () => {
      await send("DELETE", path);
      go("#/connectors");
    });
  /** What is not right is said before anybody is asked for consent. */
  const sound = () => {
    const found = mistakesOf(draft, stored);
    setProblem(null);
    setSaved(false);
    setMistakes(found);
    return found.size === 0;
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (busy !== "" || !sound()) return;
    if (goesLive) setAsking("live");
    else void save();
  };
  const tryOut = () => {
    if (!sound()) return;
    if (draft.method !== "GET" || draft.auth_type !== "none") setAsking("test");
    else void test();
  };
  return (
    <form className="connector" onSubmit={submit} noValidate>
      <nav className="crumbs" aria-label="Where you are">
        <a href="#/connectors">
          <Icon name="back" size={16} /> Connectors
        </a>
      </nav>
      <Heading title={tool} name={<Label text={tool} />}>
        <p className="badges">
          <ModeBadge mode={stored?.reversible ? "live" : "shadow"} />
          <span className="muted">
            {stored === null ? (
              "Not connected: its calls are recorded, and none is sent."
            ) : (
              <>
                changed <When at={stored.updated_at} /> by <Label text={stored.updated_by} most={60} />
              </>
            )}
          </span>
        </p>
      </Heading>
      {saved && <Note kind="good" title="Saved." />}
      <ConnectorFields draft={draft} onChange={setDraft} errors={mistakes} stored={stored} />
      {mistakes.size > 0 ? <Note kind="bad" title="Something is not right; see above." /> : problem !== null && <Note kind="bad" title={sentence(problem.message)} />}
      {trial !== null && <Result trial={trial} />}
      <div className="actions">
        <button type="submit" className="button primary" disabled={busy !== ""}>
          {busy === "save" ? "Saving…" : "Save"}
        </button>
        <button type="button" className="button" disabled={busy !== ""} onClick={tryOut}>
          {busy === "test" ? "Calling…" : "Test: call it once now"}
        </button>
        {stored !== null && (
          <button type="button" className="button danger-quiet" disabled={busy !== ""} onClick={() => setAsking("remove")}>
            Remove
          </button>
        )}
      </div>
      {asking === "live" && (
        <Dialog title="Send for real from now on?" yes="Yes, send for real" no="Stay in shadow" danger busy={busy !== ""} onYes={() => void save()} onNo={() => setAsking("")}>
          <p>
            Every run that comes to a step with the tool <strong><Label text={tool} /></strong> will call
          </p>
          <p>
            <code>
              {draft.method} <Text text={address(draft)} />
            </code>
          </p>
          <p>What is sent cannot be called back from here. Steps of low and medium risk send it without asking anybody.</p>
        </Dialog>
      )}
      {asking === "test" && (
        <Dialog title="Call it once now?" yes={`Yes, send the ${draft.method}`} danger={draft.method !== "GET"} busy={busy !== ""} onYes={() => void test()} onNo={() => setAsking("")}>
          <p>The test calls the other side for real, whether the tool is shadowed or not:</p>
          <p>
            <code>
              {draft.method} <Text text={address(draft)} />
            </code>
          </p>
          <p>{secretSaid(draft, stored)}{draft.method !== "GET" && " What it does over there cannot be undone from here."}</p>
        </Dialog>
      )}
      {asking === "remove" && (
        <Dialog title="Remove this connector?" yes="Remove it" danger busy={busy !== ""} onYes={() => void remove()} onNo={() => setAsking("")}>
          <p>The tool is shadowed from then on: its calls are recorded, and none is sent. The stored secret is gone.</p>
        </Dialog>
      )}
    </form>
  );
}

function address(draft: Draft): string {
  return draft.base_url.trim() + draft.path.trim();
}

/** Which secret goes along with a test. */
function secretSaid(draft: Draft, stored: Connector | null): string {
  if (draft.auth_type === "none") return "No secret goes along.";
  return takesStoredSecret(draft, stored) ? "The stored secret goes along." : "The secret that you have entered goes along.";
}

function Result({ trial }: { trial: Trial }) {
  return (
    <Note kind={trial.ok ? "good" : "warn"} title={trial.ok ? "The other side answered" : "The test did not succeed"}>
      <p>
        {trial.status_code !== null && `Status ${trial.status_code}`}
        {trial.latency_ms !== null && ` in ${Math.round(trial.latency_ms)} ms`}
        {trial.error !== null && (
          <>
            {" "}
            <Text text={trial.error} />
          </>
        )}
      </p>
      {trial.body !== null && (
        <details>
          <summary>What came back</summary>
          <Value value={trial.body} />
        </details>
      )}
    </Note>
  );
}
