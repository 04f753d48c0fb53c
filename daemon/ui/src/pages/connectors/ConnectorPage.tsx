/** A connector: form, test call, and the switch between shadow and live. */

import { type FormEvent, useState } from "react";
import { get, type Problem, remove as removeAt, send, toProblem } from "../../api/client";
import type { Connector, ConnectorTestResult } from "../../api/types";
import { ModeBadge } from "../../components/Badges";
import { Dialog } from "../../components/Dialog";
import { LoadError, Loading, Note } from "../../components/Feedback";
import { Breadcrumbs, Heading } from "../../components/Heading";
import { PersonName } from "../../components/record/PersonName";
import { FieldErrors, FormProblem } from "../../components/FieldErrors";
import { Label, Text } from "../../components/Text";
import { TimeAgo } from "../../components/Time";
import { useNames } from "../../state/members";
import { navigate } from "../../state/router";
import { useAccount } from "../../state/session";
import { useLoad } from "../../state/useLoad";
import { getExampleFor } from "../../state/usage";
import { prettyPrint } from "../../api/json";
import { isAtLeast, rolesFrom } from "../../text/labels";
import { roleSentence } from "../../text/people";
import { toSentence } from "../../text/sentences";
import { ConnectorFields } from "./ConnectorFields";
import { type ConnectorDraft, draftFrom, emptyDraft, requestBody } from "./draft";
import { type Samples, SampleFields, sampleMembers, SendDialog, TestResult } from "./TestCall";
import { usesStoredSecret, validateDraft } from "./validation";
import { common } from "../../text/en/common";
import { connectors as t } from "../../text/en/connectors";

type LoadedConnector = { connector: Connector | null };

export default function ConnectorPage({ tool }: { tool: string }) {
  const path = `/connectors/${encodeURIComponent(tool)}`;
  const loaded = useLoad(path, () => load(path));
  if (loaded.value === null)
    return loaded.problem === null ? (
      <Loading rows={6} />
    ) : (
      <LoadError problem={loaded.problem} retry={loaded.reload} />
    );
  const stored = loaded.value.connector;
  return (
    <ConnectorForm
      tool={tool}
      path={path}
      stored={stored}
      onStored={(connector) => loaded.set({ connector })}
    />
  );
}

async function load(path: string): Promise<LoadedConnector> {
  try {
    return { connector: await get<Connector>(path) };
  } catch (error) {
    if (toProblem(error).status === 404) return { connector: null };
    throw error;
  }
}

/** The sample values of the test call: at first the example of a process that calls the tool. */
function useSamples(tool: string): [Samples, (samples: Samples) => void] {
  const { company } = useAccount();
  const [own, setOwn] = useState<Samples | null>(null);
  const { value } = useLoad(`example for ${tool} ${company.id}`, () =>
    getExampleFor(tool, company.id),
  );
  const inputs = value == null ? "" : prettyPrint(value);
  return [own ?? { inputs, facts: "" }, setOwn];
}

interface FormProps {
  tool: string;
  path: string;
  stored: Connector | null;
  onStored: (connector: Connector) => void;
}

function ConnectorForm({ tool, path, stored, onStored }: FormProps) {
  const [draft, setDraft] = useState<ConnectorDraft>(() =>
    stored === null ? emptyDraft() : draftFrom(stored),
  );
  const [busy, setBusy] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [trial, setTestResult] = useState<ConnectorTestResult | null>(null);
  const [samples, setSamples] = useSamples(tool);
  const [preview, setPreview] = useState<ConnectorTestResult | null>(null);
  const [dialog, setDialog] = useState<"" | "live" | "test" | "remove">("");
  const [saved, setSaved] = useState(false);
  const nameOf = useNames();
  const [newer, setNewer] = useState<Connector | null>(null);
  const showNewer = (connector: Connector) => {
    onStored(connector);
    setDraft(draftFrom(connector));
    setNewer(null);
  };
  const [errors, setErrors] = useState<Map<string, string>>(new Map());
  const becomesLive = draft.reversible && stored?.reversible !== true;

  async function perform(what: string, doing: () => Promise<void>) {
    if (busy !== "") return;
    setBusy(what);
    setProblem(null);
    setSaved(false);
    setErrors(new Map());
    try {
      await doing();
    } catch (error) {
      const refused = toProblem(error);
      setProblem(refused);
      setErrors(refused.fields);
    }
    setBusy("");
    setDialog("");
  }
  const save = () =>
    perform("save", async () => {
      // A colleague's address, which nobody here has seen, is not to be undone.
      const { connector: now } = await load(path);
      if (now !== null && now.version !== stored?.version) {
        setNewer(now);
        return;
      }
      const answer = await send<Connector>("PUT", path, { body: requestBody(draft) });
      onStored(answer.value);
      setDraft(draftFrom(answer.value));
      setSaved(true);
    });
  const tested = async (sending: boolean) => {
    const body = { ...requestBody(draft), ...sampleMembers(samples), send: sending };
    return (await send<ConnectorTestResult>("POST", `${path}/test`, { body })).value;
  };
  const test = () =>
    perform("test", async () => {
      setTestResult(null);
      setTestResult(await tested(true));
    });
  /** Ask what would be sent, and for consent to send it. */
  const showCall = async () => {
    let asks = false;
    await perform("test", async () => {
      setTestResult(null);
      const found = await tested(false);
      asks = found.missing.length === 0;
      if (asks) setPreview(found);
      else setTestResult(found);
    });
    if (asks) setDialog("test");
  };
  const remove = () =>
    perform("remove", async () => {
      await removeAt(path);
      navigate("#/connectors");
    });
  /** Validate before the confirmation dialog opens. */
  const validate = () => {
    const found = validateDraft(draft, stored);
    setProblem(null);
    setSaved(false);
    setErrors(found);
    return found.size === 0;
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (busy !== "" || !validate()) return;
    if (becomesLive) setDialog("live");
    else void save();
  };
  const requestTest = () => {
    if (!validate()) return;
    if (sampleMembers(samples) === null) {
      setErrors(new Map([["/samples", common("mustBeJsonObject")]]));
      return;
    }
    if (draft.method !== "GET" || draft.auth_type !== "none") void showCall();
    else void test();
  };
  return (
    <form className="connector" onSubmit={submit} noValidate>
      <Breadcrumbs href="#/connectors" text={t("connectors")} />
      <Heading title={tool} name={<Label text={tool} />}>
        <p className="badges">
          <ModeBadge mode={stored?.reversible ? "live" : "shadow"} />
          <span className="muted">
            {stored === null
              ? t("notConnectedYet")
              : t("changedBy", {
                  when: <TimeAgo at={stored.updated_at} />,
                  who: <PersonName by={stored.updated_by} />,
                })}
          </span>
        </p>
      </Heading>
      {saved && <Note kind="good" title={t("saved")} />}
      <ConnectorFields draft={draft} onChange={setDraft} errors={errors} stored={stored} />
      {errors.size > 0 ? (
        <FieldErrors errors={errors} />
      ) : (
        problem !== null && <FormProblem problem={problem} title={toSentence(problem.message)} />
      )}
      {newer !== null && (
        <Note kind="warn" title={t("changedMeanwhile", { who: nameOf(newer.updated_by) })}>
          <button type="button" className="button" onClick={() => showNewer(newer)}>
            {t("showCurrent")}
          </button>
        </Note>
      )}
      <SampleFields samples={samples} onChange={setSamples} />
      {trial !== null && <TestResult result={trial} />}
      <ConnectorActions
        stored={stored}
        busy={busy}
        onTest={requestTest}
        onRemove={() => setDialog("remove")}
      />
      {dialog === "live" && (
        <Dialog
          title={t("liveAsk")}
          yes={t("switchLive")}
          no={t("stayShadow")}
          danger
          busy={busy !== ""}
          onYes={() => void save()}
          onNo={() => setDialog("")}
        >
          <p>
            {t("everyRunCalls", {
              tool: (
                <strong>
                  <Label text={tool} />
                </strong>
              ),
            })}
          </p>
          <p>
            <code>
              {draft.method} <Text text={targetUrl(draft)} />
            </code>
          </p>
          <p>{t("liveWarning")}</p>
        </Dialog>
      )}
      {dialog === "test" && preview !== null && (
        <SendDialog
          preview={preview}
          secret={secretNotice(draft, stored)}
          busy={busy !== ""}
          onYes={() => void test()}
          onNo={() => setDialog("")}
        />
      )}
      {dialog === "remove" && (
        <Dialog
          title={t("removeAsk")}
          yes={t("removeIt")}
          danger
          busy={busy !== ""}
          onYes={() => void remove()}
          onNo={() => setDialog("")}
        >
          <p>{t("removeHint")}</p>
        </Dialog>
      )}
    </form>
  );
}

/** What the reader's role may do with the connector. */
function ConnectorActions({
  stored,
  busy,
  onTest,
  onRemove,
}: {
  stored: Connector | null;
  busy: string;
  onTest: () => void;
  onRemove: () => void;
}) {
  const { role } = useAccount();
  const live = stored?.reversible === true;
  const needed = live ? "admin" : "member";
  if (!isAtLeast(role, needed)) {
    const said = t(live ? "rolesGoLive" : "rolesChange", { roles: rolesFrom(needed) });
    return <Note kind="info" title={`${said} ${roleSentence(role)}`} />;
  }
  return (
    <div className="actions">
      <button type="submit" className="button primary" disabled={busy !== ""}>
        {busy === "save" ? t("saving") : common("save")}
      </button>
      <button type="button" className="button" disabled={busy !== ""} onClick={onTest}>
        {busy === "test" ? t("sending") : t("sendTest")}
      </button>
      {stored !== null && isAtLeast(role, "admin") && (
        <button
          type="button"
          className="button danger-quiet"
          disabled={busy !== ""}
          onClick={onRemove}
        >
          {t("remove")}
        </button>
      )}
    </div>
  );
}

function targetUrl(draft: ConnectorDraft): string {
  return draft.base_url.trim() + draft.path.trim();
}

/** Which secret a test call carries. */
function secretNotice(draft: ConnectorDraft, stored: Connector | null): string {
  if (draft.auth_type === "none") return t("noSecret");
  return usesStoredSecret(draft, stored) ? t("storedSecret") : t("enteredSecret");
}
