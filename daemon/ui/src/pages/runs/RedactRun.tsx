/** Redact values of a run that has ended: which, why, and what became of it. */

import { useState } from "react";
import { newIdempotencyKey, post, type Problem, toProblem } from "../../api/client";
import type { MadeRedaction, RetainedRun } from "../../api/types";
import { Dialog } from "../../components/Dialog";
import { Check, Field } from "../../components/Field";
import { useAccount } from "../../state/session";
import { runs as t } from "../../text/en/runs";
import { isAtLeast } from "../../text/labels";

const ROOTS = ["inputs", "facts"] as const;

export function RedactRun({ run, onDone }: { run: RetainedRun; onDone: () => void }) {
  const { role } = useAccount();
  const [asking, setAsking] = useState(false);
  if (run.ended === null || run.archived != null || run.hold != null || !isAtLeast(role, "admin"))
    return null;
  return (
    <>
      <button type="button" className="button" onClick={() => setAsking(true)}>
        {t("redact")}
      </button>
      {asking && (
        <RedactDialog
          run={run}
          onClose={() => setAsking(false)}
          onDone={() => {
            setAsking(false);
            onDone();
          }}
        />
      )}
    </>
  );
}

function RedactDialog({
  run,
  onClose,
  onDone,
}: {
  run: RetainedRun;
  onClose: () => void;
  onDone: () => void;
}) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [reason, setReason] = useState("");
  const [key] = useState(newIdempotencyKey);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [places, setPlaces] = useState<readonly string[] | null>(null);
  const choose = (pointer: string, on: boolean) => {
    const next = new Set(chosen);
    if (on) next.add(pointer);
    else next.delete(pointer);
    setChosen(next);
    setPlaces(null);
  };
  const redact = async () => {
    setBusy(true);
    setProblem(null);
    const path = `/process-runs/${run.id}/redact`;
    const body = { pointers: [...chosen], reason };
    try {
      if (places === null) {
        setPlaces((await post<MadeRedaction>(path, { ...body, preview: true })).places);
        setBusy(false);
      } else {
        await post<MadeRedaction>(path, body, key);
        onDone();
      }
    } catch (error) {
      setProblem(toProblem(error));
      setBusy(false);
    }
  };
  const ready = chosen.size > 0 && reason.trim() !== "";
  return (
    <Dialog
      title={t("redactAsk")}
      yes={places === null ? t("showPlaces") : t("redactForGood")}
      no={t("keepValues")}
      danger
      busy={busy || !ready}
      onNo={onClose}
      onYes={() => void redact()}
    >
      <p>{t("redactHint")}</p>
      {ROOTS.map((root) =>
        Object.keys(run[root]).map((name) => {
          const pointer = `/${root}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
          return (
            <Check
              key={pointer}
              label={t(root === "inputs" ? "inputNamed" : "factNamed", { name })}
              checked={chosen.has(pointer)}
              onChange={(on) => choose(pointer, on)}
            />
          );
        }),
      )}
      <Field
        label={t("reason")}
        rows={2}
        value={reason}
        onChange={(text) => {
          setReason(text);
          setPlaces(null);
        }}
        hint={t("redactReasonHint")}
        required
      />
      {places !== null && (
        <>
          <p role="status">{t("redactPlaces", { count: places.length })}</p>
          <ul>
            {places.map((one) => (
              <li key={one}>
                <code>{one}</code>
              </li>
            ))}
          </ul>
        </>
      )}
      {problem !== null && <p role="alert">{problem.message}</p>}
    </Dialog>
  );
}
